/** A page with a text between the markers of that name, `<!-- name:begin -->` and `<!-- name:end -->`. */
export function replaceBetween(page, name, text) {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page has no ${begin} ... ${end}`);
  return `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}`;
}
