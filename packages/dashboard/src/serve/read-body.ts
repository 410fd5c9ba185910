import type { IncomingMessage } from "node:http";
import { isPlainObject } from "@headgate/core/internal";
import { badRequest, HttpError } from "./http-error.ts";
import type { HttpExchange } from "./http-exchange.ts";

const MAX_BODY_BYTES = 65_536;

/** A longer body is read up to this many bytes, so that the client receives the error response. */
const MAX_DISCARDED_BYTES = 4_194_304;

/** The body of a request: a JSON object. Rejects with an `HttpError`. */
export async function readBody({
  raw,
  parsedBody,
}: HttpExchange): Promise<Record<string, unknown>> {
  const [type = ""] = (raw.headers["content-type"] ?? "").split(";");
  if (type.trim().toLowerCase() !== "application/json") {
    throw badRequest("the body must be application/json");
  }
  const body = isAlreadyRead(raw, parsedBody)
    ? requireSize(parsedBody)
    : parse(await readBytes(raw));
  if (isPlainObject(body)) return body;
  throw badRequest("the body must be a JSON object");
}

/** Whether a middleware has parsed the body, such as `express.json()`. */
function isAlreadyRead(raw: IncomingMessage, parsedBody: unknown): boolean {
  return parsedBody !== undefined && (raw.readableEnded || raw.complete);
}

function requireSize(body: unknown): unknown {
  if (Buffer.byteLength(stringify(body)) > MAX_BODY_BYTES) throw bodyTooLarge();
  return body;
}

/** `JSON.stringify` fails at a smaller depth than `JSON.parse`. */
function stringify(body: unknown): string {
  try {
    return JSON.stringify(body) ?? "";
  } catch {
    throw badRequest("the body is nested too deep");
  }
}

async function readBytes(raw: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let length = 0;
  try {
    for await (const chunk of raw as AsyncIterable<Buffer>) {
      length += chunk.length;
      if (length > MAX_DISCARDED_BYTES) break;
      if (length > MAX_BODY_BYTES) chunks.length = 0;
      else chunks.push(chunk);
    }
  } catch {
    // The client has disconnected: the response is discarded, and no warning is logged.
    throw badRequest("the body has ended early");
  }
  if (length > MAX_BODY_BYTES) throw bodyTooLarge();
  return Buffer.concat(chunks);
}

function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytes));
  } catch {
    throw badRequest("the body is not JSON");
  }
}

function bodyTooLarge(): HttpError {
  const headers = { connection: "close" };
  return new HttpError(413, "TOO_LONG", `a body has at most ${MAX_BODY_BYTES} bytes`, { headers });
}
