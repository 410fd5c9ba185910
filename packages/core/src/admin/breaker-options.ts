/** A breaker's options for `createBreaker`, of those in the registry, which has the times that a function `openFor` returns. */
export function breakerOptionsOf(
  listed: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  const { openFor } = listed;
  if (!Array.isArray(openFor)) return listed;
  return {
    ...listed,
    openFor: (opened: number): unknown => openFor[Math.min(opened, openFor.length) - 1],
  };
}
