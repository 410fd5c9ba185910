import type { PolicyResult } from "../replay/result.ts";
import type { Markup } from "./markup.ts";
import { foreignText, html, visibleText } from "./markup.ts";

/** The name of a policy. */
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
export function wordsOf({ described }: PolicyResult): Markup {
  return foreignText(described?.inWords ?? "", 600);
}

/** Its limits, as code has them. */
export function codeOf({ described }: PolicyResult): Markup {
  return html`<code>${foreignText(described?.code ?? "", 300)}</code>`;
}
