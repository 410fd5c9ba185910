import { fingerprint } from "../../key.ts";
import type { CountedPolicy, Group } from "../../limiter/counted-policy.ts";
import { VERSION } from "../../version.generated.ts";
import type { LimiterRecord, ListedShape } from "./directory.ts";
import { list } from "./listings.ts";

/** The most shapes of a limiter that are listed. */
const MOST_SHAPES = 64;

/**
 * Lists a limiter if its store keeps a directory. `own` are its limits without those of the one that it extends, whose name is
 * `extended`.
 */
export function listLimiter(name: string, own: CountedPolicy, extended: string | undefined): void {
  // In memory of this process it costs nothing.
  if (own.store.directory === true) list(own.store, limiterRecord(name, own, extended));
}

function limiterRecord(
  name: string,
  own: CountedPolicy,
  extended: string | undefined,
): LimiterRecord {
  return {
    kind: "limiter",
    name,
    policy: fingerprint(own.canonical),
    limits: own.limits.map(({ source }) => source),
    ...(own.keeps ? { blockOn: "settle" } : {}),
    shapes: own.groups.slice(0, MOST_SHAPES).map((group) => shapeOf(group, own)),
    ...(extended === undefined ? {} : { extends: extended }),
    shadow: own.shadow,
    uses: [],
    version: VERSION,
  };
}

function shapeOf({ dimension, keySuffix, positions }: Group, own: CountedPolicy): ListedShape {
  return {
    per: dimension,
    fingerprint: keySuffix.slice(keySuffix.lastIndexOf(":") + 1),
    limits: positions.map((position) => own.limits[position]?.name as string),
  };
}
