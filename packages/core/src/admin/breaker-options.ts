/**
 * Returns the registry's options in the form that `createBreaker` takes. For a function `openFor` the registry lists the times
 * that it returned; they become a function again.
 */
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
