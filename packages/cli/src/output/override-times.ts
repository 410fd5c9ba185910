/** What was there before or after, for JSON: the times of an override, which are kept as microseconds, in milliseconds since the epoch. */
export function withTimesInMs(state: unknown): unknown {
  if (typeof state !== "object" || state === null) return state;
  const times = Object.entries(state)
    .filter(([name, value]) => ["from", "until"].includes(name) && typeof value === "number")
    .map(([name, value]) => [name, Math.ceil(value / 1_000)]);
  return { ...state, ...Object.fromEntries(times) };
}
