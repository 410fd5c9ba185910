/** Waits for a value for some milliseconds. If it takes longer or fails, returns the other value. */
export function within<T>(ms: number, value: Promise<T>, other: () => T): Promise<T> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => resolve(other()), ms);
    const settle = (found: () => T) => (): void => {
      clearTimeout(timer);
      resolve(found());
    };
    value.then((found) => settle(() => found)(), settle(other));
  });
}
