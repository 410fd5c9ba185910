import type { Header } from "./headers.ts";
import { valueBehind } from "./headers.ts";
import type { Rejection } from "./verdict.ts";

/** What Headgate uses of Node's response, which is also that of Express and Koa (`ctx.res`). */
interface Answer {
  statusCode: number;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
  end(body: string): unknown;
}

/** Sets headers on Node's response, or removes them. */
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

/** Answers a request that does not go on, on Node's response. */
export function sendRejection(
  response: Pick<Answer, "statusCode" | "setHeader" | "end">,
  { status, contentType, body }: Rejection,
): void {
  response.statusCode = status;
  response.setHeader("Content-Type", contentType);
  response.end(body);
}
