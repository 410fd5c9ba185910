/** HTML with escaped texts. It is a class, so that an object in a JSON document cannot pass for one. */
export class Markup {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Part = Markup | string | number | readonly Markup[];

/** A template tag for HTML that escapes all texts. */
export function html(written: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(String.raw({ raw: written }, ...parts.map(markupOf)));
}

/** Only the result of `html` passes without escaping. */
function markupOf(part: Part): string {
  if (part instanceof Markup) return part.markup;
  return Array.isArray(part) ? part.map(markupOf).join("") : escapeText(String(part));
}

/** Removes the elements and keeps the escaped text, for a title. */
export function withoutElements({ markup }: Markup): Markup {
  return new Markup(markup.replace(/<[^>]*>/g, ""));
}

const ESCAPED: Readonly<Record<string, string>> = {
  "&": "&amp;",
  "<": "&lt;",
  ">": "&gt;",
  '"': "&quot;",
  "'": "&#39;",
  "`": "&#96;",
};

/**
 * Characters that are invisible, or affect the text around them: control characters, format characters such as bidi overrides, lone
 * surrogates, and combining marks.
 */
const UNSEEN = /[\p{C}\p{M}\p{Zl}\p{Zp}]/gu;

/** Escapes text for elements and quoted attributes. Invisible characters become `\u{202e}`. */
function escapeText(text: string): string {
  return escapeUnseen(text).replace(/[&<>"'`]/g, (character) => ESCAPED[character] as string);
}

/** Replaces invisible characters with their codes, without escaping markup. */
export function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (unseen) => `\\u{${(unseen.codePointAt(0) as number).toString(16)}}`);
}

/** Text from a log or a file name, truncated to `length` characters, in an element that isolates its direction. */
export function untrustedText(text: string, length: number): Markup {
  // Splits only the beginning, because the text may be a megabyte long.
  const characters = [...text.slice(0, 2 * length + 2)];
  const shown = characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
  return html`<bdi>${shown}</bdi>`;
}
