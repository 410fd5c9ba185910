/** Where the control record of a prefix is. No subject has this key: those of counters go on behind the brace. */
export function recordKeyOf(prefix: string): string {
  return `${prefix}:{control}`;
}

/** Where the log of actions is, in the same cluster slot. */
export function actionsKeyOf(prefix: string): string {
  return `${recordKeyOf(prefix)}:actions`;
}
