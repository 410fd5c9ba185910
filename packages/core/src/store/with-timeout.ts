/** The result of `work`, or of `onTimeout` if it takes longer than `ms`; `onTimeout` may throw. The work is not aborted. */
export async function withTimeout<T>(ms: number, work: Promise<T>, onTimeout: () => T): Promise<T> {
  let timer: NodeJS.Timeout | undefined;
  const timedOut = new Promise<"over">((resolve) => {
    timer = setTimeout(() => resolve("over"), ms);
  });
  try {
    const first = await Promise.race([work.then((value) => ({ value })), timedOut]);
    return first === "over" ? onTimeout() : first.value;
  } finally {
    clearTimeout(timer);
  }
}
