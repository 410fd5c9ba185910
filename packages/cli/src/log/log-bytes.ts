import { createReadStream } from "node:fs";
import { addAbortSignal, pipeline, Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { Failure, messageOf } from "../command/failure.ts";

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

/** The bytes of a log, unpacked where it is in gzip. Throws a `Failure` for what cannot be read, and the signal's reason. */
export async function* readBytes(
  file: string,
  { stdin, signal, onBytes }: BytesOptions,
): AsyncGenerator<Buffer> {
  const source =
    file === "-" ? (stdin as Readable) : createReadStream(file, { highWaterMark: CHUNK_BYTES });
  addAbortSignal(signal, source);
  try {
    yield* unpacked(counted(source, onBytes));
  } catch (error) {
    signal.throwIfAborted();
    throw new Failure(`cannot read the log ${nameOf(file)}: ${messageOf(error)}`, undefined, {
      cause: error,
    });
  } finally {
    source.destroy();
  }
}

/** What a file is called in messages. */
export function nameOf(file: string): string {
  return file === "-" ? "from standard input" : file;
}

async function* counted(
  source: Readable,
  onBytes: (count: number) => void,
): AsyncGenerator<Buffer> {
  for await (const chunk of source) {
    const bytes = typeof chunk === "string" ? Buffer.from(chunk) : (chunk as Buffer);
    onBytes(bytes.length);
    yield bytes;
  }
}

async function* unpacked(chunks: AsyncGenerator<Buffer>): AsyncGenerator<Buffer> {
  let first: Buffer = Buffer.alloc(0);
  while (first.length < GZIP.length) {
    const next = await chunks.next();
    if (next.done) break;
    first = Buffer.concat([first, next.value]);
  }
  if (GZIP.some((byte, i) => first[i] !== byte)) {
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
