/**
 * Characters that control a terminal or a browser, or are invisible: control characters, direction marks, zero-width characters, line
 * separators, lone surrogates.
 */
const HIDDEN =
  /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/gu;

const SHORT: Readonly<Record<string, string>> = { "\n": "\\n", "\r": "\\r", "\t": "\\t" };

/**
 * Makes a text safe for one line on a terminal or in the dashboard. Clients choose subjects, and might send characters that move the
 * cursor or hide letters. These become escapes: `\x1b`, `\n`, `\u{202e}`.
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
