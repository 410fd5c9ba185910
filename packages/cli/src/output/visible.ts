/**
 * What a terminal would obey or not show: control characters, marks of direction, widths of nothing, ends of lines, halves of
 * characters.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * A text as it may stand on a terminal, on one line: subjects are chosen by clients, who might send what moves the cursor or hides
 * letters. Such characters are shown as escapes: `\x1b`, `\n`, `\u{202e}`.
 */
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
