/** Characters that browsers interpret or hide: control characters, direction marks, zero-width characters, lone surrogates. */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/** A text that clients may have chosen, on one line, with hidden characters as escapes: `\x1b`, `\n`, `\u{202e}`. */
export function visible(text: string): string {
  return text.replace(
    HIDDEN,
    (hidden) => SHORT[hidden] ?? escapeOf(hidden.codePointAt(0) as number),
  );
}

function escapeOf(code: number): string {
  const digits = code.toString(16);
  return code <= 0xff ? `\\x${digits.padStart(2, "0")}` : `\\u{${digits}}`;
}

/** The same with at most `most` characters of the text, and an ellipsis for the rest. */
export function visibleStart(text: string, most: number): string {
  return text.length <= most ? visible(text) : `${visible(text.slice(0, most))}…`;
}
