import { createReadStream } from "node:fs";
import { open } from "node:fs/promises";
import { addAbortSignal, pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { CommandError, messageOf } from "../command/command-error.ts";

/** So many bytes are read at once. */
const CHUNK_BYTES = 262_144;

/** What a file in gzip begins with. */
const GZIP = [0x1f, 0x8b] as const;

export interface BytesOptions {
  /** What `-` stands for. */
  readonly stdin: NodeJS.ReadableStream;
  readonly signal: AbortSignal;
  /** Called with bytes as they come, before they are unpacked. */
  readonly onBytes: (count: number) => void;
}

/**
 * The bytes of a log, unpacked where it is in gzip. Each piece is valid until the next one is asked for. Throws a `CommandError` for what
 * cannot be read, and the signal's reason.
 */
export async function* readBytes(
  file: string,
  { stdin, signal, onBytes }: BytesOptions,
): AsyncGenerator<Buffer> {
  try {
    if (file === "-") yield* readStream(stdin as Readable, signal, onBytes);
    else if (await isPlain(file)) yield* readPlain(file, signal, onBytes);
    else yield* readStream(createReadStream(file, { highWaterMark: CHUNK_BYTES }), signal, onBytes);
  } catch (error) {
    signal.throwIfAborted();
    throw new CommandError(
      `cannot read the log ${formatFileName(file)}: ${messageOf(error)}${adviceFor(error, file)}`,
      undefined,
      { cause: error },
    );
  }
}

/** Gzip data that ends early may be a file that is still written, or copied in part. */
function adviceFor(error: unknown, file: string): string {
  if ((error as NodeJS.ErrnoException).code !== "Z_BUF_ERROR" || file === "-") return "";
  return "; its gzip data is cut off: zcat FILE | headgate replay - replays what there is";
}

/** Whether a file can be read as it is. */
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

/** Reads into one buffer again and again: those of a stream would take more memory than everything else. */
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

/** The name of a file in messages. */
export function formatFileName(file: string): string {
  return file === "-" ? "from standard input" : file;
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
  if (!isGzip(first)) {
    yield first;
    yield* chunks;
    return;
  }
  const packed = Readable.from(
    (async function* () {
      yield first;
      yield* chunks;
    })(),
  );
  // What goes wrong on either side ends the loop.
  yield* pipeline(packed, createGunzip({ chunkSize: CHUNK_BYTES }), () => {});
}

function isGzip(bytes: Buffer): boolean {
  return GZIP.every((byte, i) => bytes[i] === byte);
}
