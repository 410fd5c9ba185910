/** Text from a log as it may stand on a terminal: at most `length` characters, and none that a terminal obeys. */
export function printable(text: string, length: number): string {
  const shown = text.length > length ? `${text.slice(0, length - 3)}...` : text;
  return shown.replace(/[^\x20-\x7e]/g, "?");
}
