import { formatPolicy } from "@headgate/core/operate";
import type { PolicyResult } from "../replay/result.ts";
import type { Markup } from "./markup.ts";
import { foreignText, html } from "./markup.ts";

/** What a policy is called. */
export function nameOf({ name }: PolicyResult): Markup {
  return foreignText(name, 60);
}

/** Its limits, as code has them. */
export function policyOf({ limits }: PolicyResult): Markup {
  return html`<code>${foreignText(formatPolicy([limits].flat()), 300)}</code>`;
}
