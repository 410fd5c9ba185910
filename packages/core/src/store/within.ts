/** What work comes to, or what `late` says when it takes longer than some milliseconds: it may throw. The work is not ended. */
export async function within<T>(ms: number, work: Promise<T>, late: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise<"over">((resolve) => {
    timer = setTimeout(() => resolve("over"), ms);
  });
  try {
    const first = await Promise.race([work.then((value) => ({ value })), over]);
    return first === "over" ? late() : first.value;
  } finally {
    clearTimeout(timer);
  }
}
