import type { Header } from "./headers.ts";
import { valueBehind } from "./headers.ts";
import type { Rejection } from "./verdict.ts";

/** What is used of a response of Node's, as those of Express and Koa (`ctx.res`) are. */
interface Answer {
  statusCode: number;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
  end(body: string): unknown;
}

/** Puts headers on a response of Node's, or takes them off. */
export function setHeaders(
  response: Pick<Answer, "getHeader" | "setHeader" | "removeHeader">,
  headers: readonly Header[],
): void {
  for (const header of headers) {
    const [name, , added] = header;
    const value = valueBehind(header, added && response.getHeader(name));
    if (value === undefined) response.removeHeader(name);
    else response.setHeader(name, value);
  }
}

/** Answers a request that does not go on, with a response of Node's. */
export function sendRejection(
  response: Pick<Answer, "statusCode" | "setHeader" | "end">,
  { status, contentType, body }: Rejection,
): void {
  response.statusCode = status;
  response.setHeader("Content-Type", contentType);
  response.end(body);
}
