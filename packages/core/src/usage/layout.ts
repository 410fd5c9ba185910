import { escapePart } from "../common/key.ts";

/*
 * What is kept in Redis, and for how long. usage.lua describes the values.
 */

export const SECOND_MICROS = 1_000_000;
export const TEN_MINUTES_MICROS = 600_000_000;
const HOUR_MICROS = 3_600_000_000;
export const DAY_MICROS = 86_400_000_000;

/** How decisions are counted over time, in microseconds. */
export interface Resolution {
  readonly kind: "seconds" | "minutes" | "hours";
  /** The length of a step, and of the period whose steps are in one hash. */
  readonly step: number;
  readonly period: number;
  /** How far back steps are read. */
  readonly span: number;
  /** The lifetime of a hash after its last change. */
  readonly ttl: number;
}

export const RESOLUTIONS: Readonly<Record<"tenSeconds" | "minutes" | "hours", Resolution>> = {
  tenSeconds: {
    kind: "seconds",
    step: 10 * SECOND_MICROS,
    period: 900 * SECOND_MICROS,
    span: 900 * SECOND_MICROS,
    ttl: 1_800 * SECOND_MICROS,
  },
  minutes: {
    kind: "minutes",
    step: 60 * SECOND_MICROS,
    period: HOUR_MICROS,
    span: DAY_MICROS,
    ttl: 25 * HOUR_MICROS,
  },
  hours: {
    kind: "hours",
    step: HOUR_MICROS,
    period: DAY_MICROS,
    span: 30 * DAY_MICROS,
    ttl: 31 * DAY_MICROS,
  },
};

/** For how many microseconds subjects and denials of ten minutes are kept after their last change, as in usage.lua. */
export const SUBJECTS_TTL_MICROS: number = 25 * HOUR_MICROS;

/** The name that stands for all limiters without counts of their own. */
export const OTHER_LIMITERS = "";

/** The key of the index of limiters with usage under a prefix. No counter's key has this form. */
export function usageKey(prefix: string): string {
  return `${prefix}:{usage}`;
}

/** The key of the number of a process's last call, by the name of the process. */
export function usageProcessKey(prefix: string, process: string): string {
  return `${usageKey(prefix)}:process/${process}`;
}

/** What is kept of a limiter for a period, apart from its decisions. */
type SubjectKind = "used" | "denied" | "bounds" | "denials" | "day-denials";

/**
 * The name of a limiter in the index, from which its keys are made. An unpaired surrogate has no bytes, and Redis' JSON refuses
 * its escape.
 */
export function indexedName(limiter: string): string {
  return limiter.toWellFormed();
}

/**
 * The key of a limiter's counts for a period that begins at a time in microseconds. The sign for all other limiters is none that
 * an escaped name contains.
 */
export function limiterKey(
  prefix: string,
  limiter: string,
  kind: Resolution["kind"] | SubjectKind,
  from: number,
): string {
  const part = limiter === OTHER_LIMITERS ? "*" : escapePart(indexedName(limiter));
  return `${usageKey(prefix)}:${kind}/${part}/${from / SECOND_MICROS}`;
}

/**
 * The key of the blocks in force. It is in the hash slot of usage, but matches no key pattern that lets a user read only usage,
 * because it contains subjects in the form of counter keys. No other key has a prefix without a colon before the brace.
 */
export function blocksKey(prefix: string): string {
  return `${prefix}:blocks{usage}`;
}

/** The beginning of the period in which a time is, in microseconds. */
export function startOf(time: number, period: number): number {
  return Math.floor(time / period) * period;
}

/** The beginnings of all ten minutes that may have subjects. A process's clock may be seconds ahead of the server's. */
export function keptSpans(now: number): readonly number[] {
  const from = now - SUBJECTS_TTL_MICROS - TEN_MINUTES_MICROS;
  return startsBetween(from, now + TEN_MINUTES_MICROS, TEN_MINUTES_MICROS);
}

/** The beginnings of the periods of a length between two times, all in microseconds. */
export function startsBetween(from: number, to: number, period: number): number[] {
  const first = startOf(from, period);
  const count = (startOf(to, period) - first) / period + 1;
  return Array.from({ length: count }, (_, i) => first + i * period);
}
