import type { CompiledLimit } from "../algorithms/algorithm.ts";
import { compileLimit } from "../algorithms/compile-limit.ts";
import { formatKind, formatReceived, HeadgateError } from "../errors.ts";
import { escapePart, escapeSubject, fingerprint } from "../key.ts";
import type { LimitDescription, Policy } from "../policy.ts";
import { GLOBAL_DIMENSION } from "../policy.ts";
import type { Store } from "../store/store.ts";
import type { Unit, UnitLimits } from "../store/unit.ts";

/** Who is counted: the subject of the one dimension, or of each by name; `null` leaves a dimension's limits out of the decision. */
export type Subjects<Dimension extends string = string> =
  | string
  | { readonly [D in Dimension]?: string | null | undefined };

/** What `per: "global"` counts: its one subject. */
const EVERYBODY = "*";

/** The limits of a policy that count by one dimension. */
export interface Group extends UnitLimits {
  readonly dimension: string;
  /** Where each of the limits stands in the policy as it was written. */
  readonly positions: readonly number[];
  /** What follows the subject in the key. */
  readonly keySuffix: string;
}

/** A policy made ready to be counted on a store. */
export interface Counters {
  readonly store: Store;
  readonly groups: readonly Group[];
  /** Every limit, in the order of the policy. */
  readonly limits: readonly CompiledLimit[];
  /** The policy in canonical form: equal exactly when two limiters count the same. */
  readonly canonical: string;
  /** Equal exactly when, on one store, all keys are. */
  readonly keyspace: string;
}

/** Validates a policy and prepares its keys. Throws `HEADGATE_INVALID_LIMIT`. */
export function compileCounters(name: string, policy: Policy, store: Store): Counters {
  const limits = [policy].flat().map(compileLimit);
  if (limits.length === 0) {
    throw new HeadgateError(
      "HEADGATE_INVALID_LIMIT",
      "limits must hold at least one limit, got []",
    );
  }
  rejectTwins(limits);
  // The order in which limits were written must not matter to what is counted where.
  const order = limits
    .map((limit, position) => ({ limit, position, id: `${limit.per}=${limit.canonical}` }))
    .sort((a, b) => (a.id < b.id ? -1 : 1));
  const canonical = order.map(({ id }) => id).join(";");
  const dimensions = [...new Set(limits.map(({ per }) => per))];
  const groups = dimensions.map((dimension) => {
    const members = order.filter(({ limit }) => limit.per === dimension);
    return {
      dimension,
      limits: members.map(({ limit }) => limit),
      positions: members.map(({ position }) => position),
      description: members
        .flatMap(({ limit }) => [limit.algorithm.name, ...limit.parameters])
        .join(" "),
      keySuffix: `}:${escapePart(name)}:${escapePart(dimension)}:${fingerprint(canonical)}`,
    };
  });
  const keyspace = `${store.prefix}:${escapePart(name)}:${canonical}`;
  return { store, groups, limits, canonical, keyspace };
}

/** One decision over two limiters: the first one's limits, then the second one's. Throws `HEADGATE_INVALID_OPTION` when they are on different stores. */
export function joinCounters(first: Counters, second: Counters): Counters {
  const sameStore =
    first.store.owner === second.store.owner && first.store.prefix === second.store.prefix;
  if (!sameStore) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      "extends: one decision over two limiters needs both on the same store, with the same prefix",
    );
  }
  if (first.keyspace === second.keyspace) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      "extends: a limiter cannot extend one of its own name and policy",
    );
  }
  const moved = second.groups.map((group) => ({
    ...group,
    positions: group.positions.map((position) => position + first.limits.length),
  }));
  return {
    store: second.store,
    groups: [...first.groups, ...moved],
    limits: [...first.limits, ...second.limits],
    canonical: `${first.canonical}&${second.canonical}`,
    keyspace: `${first.keyspace}&${second.keyspace}`,
  };
}

function rejectTwins(limits: readonly LimitDescription[]): void {
  const seen = new Set<string>();
  for (const { name, per } of limits) {
    const id = `${per}=${name}`;
    if (seen.has(id)) {
      throw new HeadgateError(
        "HEADGATE_INVALID_LIMIT",
        `two limits per ${formatReceived(per)} are named ${formatReceived(name)}; give each a name of its own`,
      );
    }
    seen.add(id);
  }
}

/** The units of a group: a group, and the key of a subject in it. */
export interface GroupUnit extends Unit {
  readonly group: Group;
}

/** The units that a request asks. Throws `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`, `HEADGATE_INVALID_OPTION`. */
export function unitsOf(counters: Counters, subjects: Subjects): GroupUnit[] {
  rejectUnknownDimensions(counters, subjects);
  const units: GroupUnit[] = [];
  for (const group of counters.groups) {
    const subject = subjectIn(counters, group.dimension, subjects);
    if (subject !== null) units.push(unitOf(counters, group, subject));
  }
  if (units.length === 0) throw emptyKey("every dimension", null);
  return units;
}

/**
 * The units of the dimensions that are named: everybody, only by name. Throws as `unitsOf`.
 */
export function namedUnitsOf(counters: Counters, subjects: Subjects): GroupUnit[] {
  rejectUnknownDimensions(counters, subjects);
  const units: GroupUnit[] = [];
  for (const group of counters.groups) {
    const { dimension } = group;
    const isNamed = isRecord(subjects)
      ? Object.hasOwn(subjects, dimension)
      : dimension !== GLOBAL_DIMENSION;
    const subject = isNamed ? subjectIn(counters, dimension, subjects) : null;
    if (subject !== null) units.push(unitOf(counters, group, subject));
  }
  if (units.length === 0) throw emptyKey("every dimension", subjects);
  return units;
}

function isRecord(
  subjects: Subjects,
): subjects is Readonly<Record<string, string | null | undefined>> {
  return typeof subjects === "object" && subjects !== null;
}

function unitOf(counters: Counters, group: Group, subject: string): GroupUnit {
  return {
    group,
    limits: group.limits,
    description: group.description,
    key: `${counters.store.prefix}:{${escapeSubject(subject)}${group.keySuffix}`,
  };
}

/** The subject in a dimension; null when its limits are left out. */
function subjectIn(counters: Counters, dimension: string, subjects: Subjects): string | null {
  if (dimension === GLOBAL_DIMENSION) return everybodyIn(subjects);
  if (isRecord(subjects)) {
    const subject = Object.hasOwn(subjects, dimension) ? subjects[dimension] : undefined;
    return subject === null ? null : checkSubject(dimension, subject);
  }
  const others = dimensionsOf(counters).filter(
    (other) => other !== GLOBAL_DIMENSION && other !== dimension,
  );
  if (others.length === 0) return checkSubject(dimension, subjects);
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `this limiter counts by ${[dimension, ...others].join(", ")}: name the subject of each, as in { ${dimension}: "..." }; got ${formatKind(subjects)}`,
  );
}

function everybodyIn(subjects: Subjects): string | null {
  if (!isRecord(subjects) || !Object.hasOwn(subjects, GLOBAL_DIMENSION)) return EVERYBODY;
  const named = subjects[GLOBAL_DIMENSION];
  if (named === EVERYBODY || named === null) return named;
  throw new HeadgateError(
    "HEADGATE_INVALID_KEY",
    `the subject of "${GLOBAL_DIMENSION}" is everybody, "${EVERYBODY}", got ${formatKind(named)}`,
  );
}

function dimensionsOf(counters: Counters): string[] {
  return counters.groups.map(({ dimension }) => dimension);
}

function checkSubject(dimension: string, subject: unknown): string {
  if (subject === undefined || subject === "") throw emptyKey(dimension, subject);
  if (typeof subject !== "string") {
    throw new HeadgateError(
      "HEADGATE_INVALID_KEY",
      `the subject of ${formatReceived(dimension)} must be a string, got ${formatKind(subject)}`,
    );
  }
  return subject;
}

function emptyKey(dimension: string, subject: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_EMPTY_KEY",
    `the subject of ${formatReceived(dimension)} must not be empty, got ${formatReceived(subject)}`,
  );
}

function rejectUnknownDimensions(counters: Counters, subjects: Subjects): void {
  if (!isRecord(subjects)) return;
  for (const dimension of Object.keys(subjects)) {
    if (dimensionsOf(counters).includes(dimension)) continue;
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `no limit counts by ${formatReceived(dimension)}; this limiter counts by ${dimensionsOf(counters).join(", ")}`,
    );
  }
}
