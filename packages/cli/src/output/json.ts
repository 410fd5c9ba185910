/** Characters that JSON does not escape, but that control a terminal or are invisible. */
const HIDDEN = /[\x7f-\x9f\p{Cf}\p{Zl}\p{Zp}]/gu;

/** Writes the one JSON document that `--json` prints. */
export function writeJson(stdout: NodeJS.WritableStream, value: unknown): void {
  const written = JSON.stringify(value, undefined, 2).replace(HIDDEN, escapeUnits);
  stdout.write(`${written}\n`);
}

function escapeUnits(text: string): string {
  return Array.from({ length: text.length }, (_, i) => text.charCodeAt(i))
    .map((unit) => `\\u${unit.toString(16).padStart(4, "0")}`)
    .join("");
}
