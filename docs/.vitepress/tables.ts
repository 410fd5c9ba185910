import type { MarkdownRenderer } from "vitepress";

/** Puts each table into a box that scrolls, also by the keyboard: the page itself never gets wider than the screen. */
export function boxTables({ renderer }: MarkdownRenderer): void {
  renderer.rules["table_open"] = (tokens, at, options, _, self) =>
    `<div class="wide" tabindex="0">${self.renderToken(tokens, at, options)}`;
  renderer.rules["table_close"] = (tokens, at, options, _, self) =>
    `${self.renderToken(tokens, at, options)}</div>`;
}
