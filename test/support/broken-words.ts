/**
 * For a page to evaluate: the words of its main part that stand on several lines; a line may end with a hyphen. Of the texts of others,
 * such as names and the lines of a log, which may be as long as an attacker likes, only short words count.
 */
export const BROKEN_WORDS = `(() => {
  const broken = [];
  const texts = document.createTreeWalker(document.querySelector("main"), NodeFilter.SHOW_TEXT);
  while (texts.nextNode()) {
    const text = texts.currentNode;
    const within = (selector) => text.parentElement.closest(selector);
    const head = within("thead");
    // The heads of cards are not seen.
    const isUnseen = head !== null && getComputedStyle(head).position === "absolute";
    if (isUnseen || within("svg, code, .visually-hidden") !== null) continue;
    const isOfOthers = within("bdi, .name") !== null;
    for (const { 0: word, index } of text.data.matchAll(isOfOthers ? /[^\\s-]+/g : /[\\p{L}\\p{N}]+/gu)) {
      if (isOfOthers && word.length > 15) continue;
      const range = document.createRange();
      range.setStart(text, index);
      range.setEnd(text, index + word.length);
      const lines = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)));
      if (lines.size > 1) broken.push(word + " in " + text.parentElement.outerHTML.slice(0, 100));
    }
  }
  return broken;
})()`;
