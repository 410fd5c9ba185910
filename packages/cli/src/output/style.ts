import type { WriteStream } from "node:tty";
import { styleText } from "node:util";
import { escapeHidden } from "@headgate/replay/internal";
import type { CommandContext } from "../command/cli.ts";

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

/** Prints a headline and indented lines. */
export function printSection(
  { stdout, environment }: Pick<CommandContext, "stdout" | "environment">,
  headline: string,
  lines: readonly string[],
): void {
  const style = styleFor(stdout, environment);
  const written = [
    style("bold", escapeHidden(headline)),
    ...lines.map((line) => `  ${escapeHidden(line)}`),
  ];
  stdout.write(`${written.join("\n")}\n`);
}
