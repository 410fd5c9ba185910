/** The result of work, or of `late` if it takes longer than some milliseconds; `late` may throw. The work is not aborted. */
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
