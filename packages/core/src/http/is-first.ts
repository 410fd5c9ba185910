const known = new WeakMap<object, Set<string>>();

/** Whether a warning is new in a place: an application may have many limiters, and logs it once. */
export function isFirst(place: object, code: string): boolean {
  const codes = known.get(place) ?? new Set();
  known.set(place, codes);
  if (codes.has(code)) return false;
  codes.add(code);
  return true;
}
