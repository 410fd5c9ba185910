/** Text from a log that is safe for a terminal: at most `length` characters, without control characters. */
export function printable(text: string, length: number): string {
  const shown = text.length > length ? `${text.slice(0, length - 3)}...` : text;
  return shown.replace(/[^\x20-\x7e]/g, "?");
}
