import { CommandError } from "../command/command-error.ts";
import { formatCount, pluralize, pluralizeInWords } from "../output/number.ts";
import { escapeHidden } from "../output/terminal-text.ts";
import type { MalformedLine } from "./logged-request.ts";
import type { LogCounts } from "./read-requests.ts";

/** The most characters shown of a skipped line. */
const MAX_SHOWN = 100;

/** Messages for the examples, and one with the number of skipped lines; empty if no line was skipped. */
export function describeSkipped({ lines, malformed, examples }: LogCounts): readonly string[] {
  if (malformed === 0) return [];
  return [
    ...examples.map((one) => `${escapeHidden(one.file)}: ${describeExample(one)}`),
    `skipped ${formatCount(malformed)} of ${pluralizeInWords(lines, "line")}`,
  ];
}

/** The error for logs without any request. */
export function noRequestsError(
  files: readonly string[],
  { malformed, examples }: LogCounts,
): CommandError {
  const logs = files
    .map((file) => (file === "-" ? "standard input" : escapeHidden(file)))
    .join(", ");
  const [first] = examples;
  if (first === undefined) return new CommandError(`no requests in ${logs}: it is empty`);
  return new CommandError(
    `no requests in ${logs}: ${pluralize(malformed, "malformed line")}; ${describeExample(first)}`,
  );
}

function describeExample({ number, text, reason }: MalformedLine): string {
  const begins = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
  return `line ${number} skipped, ${reason}: ${escapeHidden(begins)}`;
}
