import { formatPolicy } from "@headgate/core/operate";
import type { PolicyResult } from "../replay/result.ts";
import { limitsInWords } from "./limit-words.ts";
import type { Markup } from "./markup.ts";
import { foreignText, html, visibleText } from "./markup.ts";

/** What a policy is called. */
export function nameOf({ name }: PolicyResult): Markup {
  return foreignText(name, 60);
}

/** The same as plain text for a chart, of at most `length` characters. */
export function shortNameOf({ name }: PolicyResult, length: number): string {
  const characters = [...visibleText(name.slice(0, 2 * length))];
  return characters.length > length
    ? `${characters.slice(0, length - 1).join("")}…`
    : characters.join("");
}

/** Its limits in words. */
export function wordsOf({ limits }: PolicyResult): Markup {
  return foreignText(limitsInWords(limits), 600);
}

/** Its limits, as code has them. */
export function codeOf({ limits }: PolicyResult): Markup {
  return html`<code>${foreignText(formatPolicy([limits].flat()), 300)}</code>`;
}
