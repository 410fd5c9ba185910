/** Values by a text of each, in their order. */
export function groupBy<T>(
  values: readonly T[],
  keyOf: (value: T) => string,
): ReadonlyMap<string, readonly T[]> {
  const groups = new Map<string, T[]>();
  for (const value of values) {
    const text = keyOf(value);
    const group = groups.get(text);
    if (group === undefined) groups.set(text, [value]);
    else group.push(value);
  }
  return groups;
}
