import type { PolicyResult } from "../replay/result.ts";
import type { Markup } from "./markup.ts";
import { escapeUnseen, html, untrustedText } from "./markup.ts";

/** The name of a policy. */
export function renderName({ name }: PolicyResult): Markup {
  return untrustedText(name, 60);
}

/** The same as plain text for a chart, of at most `length` characters. */
export function shortName({ name }: PolicyResult, length: number): string {
  const characters = [...escapeUnseen(name.slice(0, 2 * length))];
  return characters.length > length
    ? `${characters.slice(0, length - 1).join("")}…`
    : characters.join("");
}

/** Its limits in words. */
export function renderLimits({ description }: PolicyResult): Markup {
  return untrustedText(description?.text ?? "", 600);
}

/** Its limits, as code has them. */
export function renderCode({ description }: PolicyResult): Markup {
  return html`<code>${untrustedText(description?.code ?? "", 300)}</code>`;
}
