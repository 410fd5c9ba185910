import { once } from "node:events";
import { connect } from "node:net";
import { expect } from "vitest";

/** An unparsed HTTP answer. */
export interface RawAnswer {
  readonly status: number;
  readonly bytes: Buffer;
  /** Names in lower case with their unchanged values, in order. */
  readonly fields: readonly (readonly [name: string, value: string])[];
  readonly body: Buffer;
}

/** The longest wait for an answer, which is enough for a busy machine. */
const TIMEOUT_MS = 20_000;

/** Sends arbitrary bytes to a server on 127.0.0.1, and reads until it closes the connection. */
export async function sendRaw(port: number, request: Buffer): Promise<RawAnswer> {
  const socket = connect(port, "127.0.0.1");
  const chunks: Buffer[] = [];
  socket.on("data", (chunk) => chunks.push(chunk));
  // A server may close the connection after its answer, before it has read everything.
  socket.on("error", () => {});
  socket.setTimeout(TIMEOUT_MS, () => socket.destroy());
  socket.write(request);
  await once(socket, "close");
  return parseAnswer(Buffer.concat(chunks));
}

/** Returns a GET with arbitrary header lines, one byte per character; the server closes the connection after its answer. */
export function requestOf(path: string, ...lines: readonly string[]): Buffer {
  const head = [`GET ${path} HTTP/1.1`, "Host: a", "Connection: close", ...lines];
  return Buffer.from(`${head.join("\r\n")}\r\n\r\n`, "latin1");
}

/** Parses exactly one answer. Fails for bytes that are not allowed in a header section. */
function parseAnswer(bytes: Buffer): RawAnswer {
  const text = bytes.toString("latin1");
  const end = text.indexOf("\r\n\r\n");
  expect(end, text).toBeGreaterThan(0);
  const [first = "", ...lines] = text.slice(0, end).split("\r\n");
  expect(first).toMatch(/^HTTP\/1\.1 \d{3} [A-Za-z -]+$/);
  const fields = lines.map((line) => {
    const [, name = "", value = ""] = /^([A-Za-z-]+): ([\x20-\x7e]*)$/.exec(line) ?? [];
    expect(name, JSON.stringify(line)).not.toBe("");
    return [name.toLowerCase(), value] as const;
  });
  const body = bytes.subarray(end + 4);
  const length = fields.find(([name]) => name === "content-length")?.[1];
  if (length !== undefined) expect(body.length).toBe(Number(length));
  expect(text.slice(end).includes("HTTP/1.1")).toBe(false);
  return { status: Number(first.slice(9, 12)), bytes, fields, body };
}
