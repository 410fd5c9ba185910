import type { WriteStream } from "node:tty";
import { styleText } from "node:util";

type Format = Parameters<typeof styleText>[0];

/** Applies a format such as `"bold"` or `["red", "bold"]` to a text, or returns the text unchanged. */
export type Style = (format: Format, text: string) => string;

/** The styles for a stream; none unless it is a terminal without `NO_COLOR`. */
export function styleFor(
  stream: NodeJS.WritableStream,
  environment: Readonly<Record<string, string | undefined>>,
): Style {
  if (!isTerminal(stream) || environment["NO_COLOR"] || environment["TERM"] === "dumb") {
    return (_, text) => text;
  }
  // With validateStream, styleText would check the stdout of this process instead of the stream.
  return (format, text) => styleText(format, text, { validateStream: false });
}

/** Whether a stream is a terminal. */
export function isTerminal(stream: object): boolean {
  return (stream as Partial<WriteStream>).isTTY === true;
}

/** The columns of a terminal; Infinity for other streams. */
export function widthOf(stream: NodeJS.WritableStream): number {
  return isTerminal(stream) ? (stream as WriteStream).columns || 80 : Number.POSITIVE_INFINITY;
}
