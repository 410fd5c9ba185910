/**
 * Characters that a terminal or a browser obeys or hides: control characters, marks of direction, zero widths, ends of lines,
 * halves of characters.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * A text as it may stand on a terminal or in the dashboard, on one line: subjects are chosen by clients, who might send what moves
 * the cursor or hides letters. Such characters are shown as escapes: `\x1b`, `\n`, `\u{202e}`.
 */
export function escapeHidden(text: string): string {
  return text.replace(
    HIDDEN,
    (hidden) => SHORT[hidden] ?? formatEscape(hidden.codePointAt(0) as number),
  );
}

function formatEscape(code: number): string {
  const digits = code.toString(16);
  return code <= 0xff ? `\\x${digits.padStart(2, "0")}` : `\\u{${digits}}`;
}

/** A text in lines of at most 100 characters, as far as its words allow. */
export function wrapText(text: string): string {
  return text.replace(/(?=.{101})(.{1,100}) /g, "$1\n");
}

/** A word of a command line that a shell hands on as it is. */
export function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
