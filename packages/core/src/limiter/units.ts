import { formatKind, formatReceived, HeadgateError } from "../errors.ts";
import { escapeSubject } from "../key.ts";
import { GLOBAL_DIMENSION } from "../policy.ts";
import type { Unit } from "../store/unit.ts";
import type { Counters, Group } from "./counters.ts";

/** Who is counted: the subject of the one dimension, or of each by name; `null` leaves a dimension's limits out of the decision. */
export type Subjects<Dimension extends string = string> =
  | string
  | { readonly [D in Dimension]?: string | null | undefined };

/** What `per: "global"` counts: its one subject. */
export const EVERYBODY = "*";

/** The units of a group: a group, and the key of a subject in it. */
export interface GroupUnit extends Unit {
  readonly group: Group;
  readonly subject: string;
}

/** The units that a request asks, in some groups or all. Throws `HEADGATE_EMPTY_KEY`, `HEADGATE_INVALID_KEY`, `HEADGATE_INVALID_OPTION`. */
export function unitsOf(
  counters: Counters,
  subjects: Subjects,
  groups: readonly Group[] = counters.groups,
): GroupUnit[] {
  const [group] = counters.groups;
  if (counters.groups.length === 1 && group !== undefined && typeof subjects === "string") {
    const isGlobal = group.dimension === GLOBAL_DIMENSION;
    const subject = isGlobal ? EVERYBODY : checkSubject(group.dimension, subjects);
    return [unitOf(counters, group, subject)];
  }
  rejectUnknownDimensions(counters, subjects);
  const units: GroupUnit[] = [];
  for (const group of groups) {
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
    subject,
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
