import { escapeHidden } from "@headgate/replay/internal";

/** At most `most` characters of a text that clients may have chosen, with hidden ones as escapes, and an ellipsis for the rest. */
export function truncateVisible(text: string, most: number): string {
  return text.length <= most ? escapeHidden(text) : `${escapeHidden(text.slice(0, most))}…`;
}
