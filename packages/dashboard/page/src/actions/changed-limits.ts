import type { Action } from "../../../src/api.ts";

/** Numbers by limit and field. */
export type Numbers = Readonly<Record<string, Readonly<Record<string, number>>>>;

/** The typed texts by limit and field. */
export type TypedNumbers = Readonly<Record<string, Readonly<Record<string, string>>>>;

/** New numbers by limit and field. */
type Limits = NonNullable<Extract<Action, { kind: "setOverride" }>["limits"]>;

/** The typed numbers; undefined if there are none, or if one is not a whole number. */
export function changedLimits(numbers: Numbers, typed: TypedNumbers): Limits | undefined {
  const limits: [string, Limits[string]][] = [];
  for (const [limit, fields] of Object.entries(numbers)) {
    const given = Object.keys(fields)
      .map((field) => [field, typed[limit]?.[field]?.trim() ?? ""] as const)
      .filter(([, text]) => text !== "");
    if (given.some(([, text]) => !/^\d{1,15}$/.test(text))) return undefined;
    if (given.length > 0) {
      limits.push([limit, Object.fromEntries(given.map(([field, text]) => [field, Number(text)]))]);
    }
  }
  return limits.length === 0 ? undefined : Object.fromEntries(limits);
}
