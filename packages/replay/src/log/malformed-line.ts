import { escapeHidden } from "../format/hidden-text.ts";

/** A line that is not a request. */
export interface MalformedLine {
  /** The path of the log; `-` for a stream without a path, and for lines that come one by one. */
  readonly file: string;
  /** The line number, from 1. */
  readonly number: number;
  readonly text: string;
  readonly reason: string;
}

const MAX_SHOWN = 100;

/** Formats a skipped line and the reason in one line of visible characters. */
export function formatMalformedLine({ number, text, reason }: MalformedLine): string {
  const begins = text.length > MAX_SHOWN ? `${text.slice(0, MAX_SHOWN)}...` : text;
  return `line ${number} skipped, ${reason}: ${escapeHidden(begins)}`;
}
