import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { addAbortSignal, pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { HeadgateError } from "@headgate/core";
import type { LogFile } from "./log-entry.ts";

const CHUNK_BYTES = 262_144;

/** The first bytes of a gzip file. */
const GZIP = [0x1f, 0x8b] as const;

export interface BytesOptions {
  readonly signal: AbortSignal;
  /** Called with the number of bytes read, before decompression. */
  readonly onBytes: (count: number) => void;
}

/** The name of a log: its path, or `-`. */
export function nameOf(file: LogFile): string {
  if (typeof file === "string") return file;
  const { path } = file as { path?: unknown };
  return typeof path === "string" ? path : "-";
}

/** Formats the name of a log for messages. */
export function formatLogName(name: string): string {
  return name === "-" ? "from standard input" : name;
}

/**
 * Reads the bytes of a log, decompressed if it is in gzip. Each chunk is valid until the next one is requested. Throws
 * `HEADGATE_LOG_UNREADABLE` if the log cannot be read, and the signal's reason.
 */
export async function* readBytes(
  file: LogFile,
  { signal, onBytes }: BytesOptions,
): AsyncGenerator<Buffer> {
  try {
    if (typeof file !== "string") yield* readStream(file, signal, onBytes);
    else if (await isPlain(file)) yield* readPlain(file, signal, onBytes);
    else yield* readStream(createReadStream(file, { highWaterMark: CHUNK_BYTES }), signal, onBytes);
  } catch (error) {
    signal.throwIfAborted();
    const { message, code } = error as NodeJS.ErrnoException;
    // Gzip data that ends early may belong to a file that is still being written, or was copied only partly.
    const advice =
      code === "Z_BUF_ERROR" && typeof file === "string"
        ? "; its gzip data is truncated: zcat FILE | headgate replay - replays the complete part"
        : "";
    throw new HeadgateError(
      "HEADGATE_LOG_UNREADABLE",
      `cannot read the log ${formatLogName(nameOf(file))}: ${message}${advice}`,
      { cause: error },
    );
  }
}

/** Whether a file is a regular file that is not compressed. */
async function isPlain(file: string): Promise<boolean> {
  const handle = await open(file);
  try {
    if (!(await handle.stat()).isFile()) return false;
    const { buffer } = await handle.read(Buffer.alloc(GZIP.length), 0, GZIP.length, 0);
    return !isGzip(buffer);
  } finally {
    await handle.close();
  }
}

/** Reuses one buffer, because the buffers of a stream would take more memory than everything else. */
async function* readPlain(
  file: string,
  signal: AbortSignal,
  onBytes: (count: number) => void,
): AsyncGenerator<Buffer> {
  const handle = await open(file);
  try {
    const buffer = Buffer.allocUnsafeSlow(CHUNK_BYTES);
    for (;;) {
      signal.throwIfAborted();
      const { bytesRead } = await handle.read(buffer, 0, CHUNK_BYTES, null);
      if (bytesRead === 0) return;
      onBytes(bytesRead);
      yield buffer.subarray(0, bytesRead);
    }
  } finally {
    await handle.close();
  }
}

async function* readStream(
  source: Readable,
  signal: AbortSignal,
  onBytes: (count: number) => void,
): AsyncGenerator<Buffer> {
  addAbortSignal(signal, source);
  try {
    yield* decompress(countBytes(source, onBytes));
  } finally {
    source.destroy();
  }
}

async function* countBytes(
  source: Readable,
  onBytes: (count: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Buffer);
    onBytes(bytes.length);
    yield bytes;
  }
}

async function* decompress(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let first: Buffer = Buffer.alloc(0);
  while (first.length < GZIP.length) {
    const next = await chunks.next();
    if (next.done) break;
    first = Buffer.concat([first, next.value]);
  }
  const whole = async function* (): AsyncGenerator<Buffer> {
    yield first;
    yield* chunks;
  };
  if (!isGzip(first)) yield* whole();
  // An error on either side ends the loop.
  else yield* pipeline(Readable.from(whole()), createGunzip({ chunkSize: CHUNK_BYTES }), () => {});
}

function isGzip(bytes: Buffer): boolean {
  return GZIP.every((byte, i) => bytes[i] === byte);
}
