/** Wraps a text into lines of at most 100 characters. Longer words are not split. */
export function wrapText(text: string): string {
  return text.replace(/(?=.{101})(.{1,100}) /g, "$1\n");
}

/** Quotes a word so that a shell passes it on unchanged. */
export function quoteForShell(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
