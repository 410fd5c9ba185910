import { escapeHidden } from "@headgate/replay/internal";
import type { LookupClient, SubjectByDimension } from "../../../src/api.ts";

/** A subject as text: `203.0.113.7`, or `tenant acme, user ada` if its dimensions have names of their own. */
export function formatSubject(subject: SubjectByDimension | undefined): string {
  if (subject === undefined) return "all subjects";
  return Object.entries(subject)
    .map(([dimension, value]) => (isUnnamedDimension(dimension) ? value : `${dimension} ${value}`))
    .join(", ");
}

/** The target of a breaker that is used without `for`. */
export const DEFAULT_TARGET = "default";

/** Whether a dimension needs no mention. */
export function isUnnamedDimension(dimension: string): boolean {
  return ["default", "target"].includes(dimension);
}

/** A limit as text without its name and its algorithm: `20 per 10 seconds for each client`. */
export function shortenLimit(description: string, name: string): string {
  const rest = description.startsWith(`${name}: `)
    ? description.slice(name.length + 2)
    : description;
  return rest.replace(
    / \((?:gcra|tokenBucket|fixedWindow|slidingWindow|slidingLog|concurrency)\)$/,
    "",
  );
}

/** At most `most` characters of a text that clients may have chosen, with hidden ones as escapes, and an ellipsis for the rest. */
export function truncateVisible(text: string, most: number): string {
  return text.length <= most ? escapeHidden(text) : `${escapeHidden(text.slice(0, most))}…`;
}

/** The client of a lookup, to begin a sentence with: `203.0.113.7`, `The sender of this x-api-key`. */
export function formatClient(client: LookupClient): string {
  switch (client.kind) {
    case "text":
      return client.text;
    case "address":
      return client.address;
    case "header":
      return `The sender of this ${client.header}`;
  }
}

const BYTE_UNITS = ["bytes", "KB", "MB", "GB", "TB"];

/** `12.5 MB`: 1 KB is 1,024 bytes. */
export function formatBytes(bytes: number): string {
  const power =
    bytes < 1_024 ? 0 : Math.min(BYTE_UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const number = bytes / 1_024 ** power;
  return `${Number(number.toPrecision(3))} ${BYTE_UNITS[power]}`;
}
