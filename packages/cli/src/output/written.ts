/** `12,345`; of what is no whole number, two digits. */
export function numberOf(number: number): string {
  return (Number.isInteger(number) ? number : Number(number.toPrecision(2))).toLocaleString(
    "en-US",
  );
}

/** `3 of 2,026 (0.15%)`. */
export function shareOf(part: number, whole: number): string {
  const percent = whole === 0 ? 0 : (part / whole) * 100;
  return `${numberOf(part)} of ${numberOf(whole)} (${Number(percent.toPrecision(2))}%)`;
}

/** `one client`, `2 clients`. */
export function countOf(count: number, one: string): string {
  return count === 1 ? `one ${one}` : `${numberOf(count)} ${one}s`;
}

/** Milliseconds since the epoch, as whole seconds in UTC: `2026-03-03 05:00:07`. */
export function momentOf(ms: number | null): string {
  return ms === null ? "-" : new Date(ms).toISOString().slice(0, 19).replace("T", " ");
}

/** A text in lines of at most 100 characters, as far as its words allow. */
export function wrapped(text: string): string {
  return text.replace(/(?=.{101})(.{1,100}) /g, "$1\n");
}
