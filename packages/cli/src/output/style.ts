import type { WriteStream } from "node:tty";
import { styleText } from "node:util";

type Format = Parameters<typeof styleText>[0];

/** Puts a format around a text, such as `"bold"` or `["red", "bold"]`; or leaves it as it is. */
export type Style = (format: Format, text: string) => string;

/** Styles for a stream: only for a terminal without `NO_COLOR`. */
export function styleFor(
  stream: NodeJS.WritableStream,
  environment: Readonly<Record<string, string | undefined>>,
): Style {
  if (!isTerminal(stream) || environment["NO_COLOR"] || environment["TERM"] === "dumb") {
    return (_, text) => text;
  }
  // It would look at the stdout of this process in place of the stream.
  return (format, text) => styleText(format, text, { validateStream: false });
}

/** Whether a stream is a terminal. */
export function isTerminal(stream: object): boolean {
  return (stream as Partial<WriteStream>).isTTY === true;
}

/** The columns of a terminal; Infinity where it is none. */
export function widthOf(stream: NodeJS.WritableStream): number {
  return isTerminal(stream) ? (stream as WriteStream).columns || 80 : Number.POSITIVE_INFINITY;
}
