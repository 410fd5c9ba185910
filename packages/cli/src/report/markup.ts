/** HTML whose texts are escaped. A class, so that an object of a document that is drawn never passes for one. */
export class Markup {
  readonly markup: string;

  constructor(markup: string) {
    this.markup = markup;
  }
}

type Part = Markup | string | number | readonly Markup[];

/** HTML as written, with every text put into it escaped. */
export function html(written: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(String.raw({ raw: written }, ...parts.map(markupOf)));
}

/** Only the result of `html` passes without escaping. */
function markupOf(part: Part): string {
  if (part instanceof Markup) return part.markup;
  return Array.isArray(part) ? part.map(markupOf).join("") : escapeText(String(part));
}

/** The text of a markup without its elements, still escaped: for a title, which has none. */
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
 * What no reader sees, or what moves the text around it: controls, format characters such as bidi overrides, lone surrogates, and
 * marks that are put on the letter before them.
 */
const UNSEEN = /[\p{C}\p{M}\p{Zl}\p{Zp}]/gu;

/** Text for elements and quoted attributes; characters that are not seen are shown as `\u{202e}`. */
function escapeText(text: string): string {
  return escapeUnseen(text).replace(/[&<>"'`]/g, (character) => ESCAPED[character] as string);
}

/** Text whose unseen characters are shown as their codes, and whose markup is not escaped. */
export function escapeUnseen(text: string): string {
  return text.replace(UNSEEN, (unseen) => `\\u{${(unseen.codePointAt(0) as number).toString(16)}}`);
}

/** Text of a log or a file name, of at most `length` characters, in an element that keeps its direction to itself. */
export function untrustedText(text: string, length: number): Markup {
  // A text of a megabyte is not taken apart to show its beginning.
  const characters = [...text.slice(0, 2 * length + 2)];
  const shown = characters.length > length ? `${characters.slice(0, length - 1).join("")}…` : text;
  return html`<bdi>${shown}</bdi>`;
}
