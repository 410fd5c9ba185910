import type { PolicyResult } from "../replay/result.ts";
import type { Markup } from "./markup.ts";
import { escapeUnseen, html, untrustedText } from "./markup.ts";

/** Renders the name of a policy. */
export function renderName({ name }: PolicyResult): Markup {
  return untrustedText(name, 60);
}

/** The name as plain text for a chart, truncated to `length` characters. */
export function shortName({ name }: PolicyResult, length: number): string {
  const characters = [...escapeUnseen(name.slice(0, 2 * length))];
  return characters.length > length
    ? `${characters.slice(0, length - 1).join("")}…`
    : characters.join("");
}

/** Renders the limits in words. */
export function renderLimits({ description }: PolicyResult): Markup {
  return untrustedText(description.text, 600);
}

/** Renders the limits as code. */
export function renderCode({ description }: PolicyResult): Markup {
  return html`<code>${untrustedText(description.code, 300)}</code>`;
}
