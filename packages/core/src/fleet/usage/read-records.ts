import { isWhole, parseJson } from "../../base/from-json.ts";
import { readPart } from "../../base/key.ts";
import type { Unreadable } from "../directory/unreadable.ts";
import { readBody } from "../directory/unreadable.ts";
import { LONG_PLACES, LONG_SPAN, SHORT_PLACES, SHORT_SPAN } from "./steps.ts";

/** Numbers of decisions. */
export interface UsageCounts {
  /** What the limits allowed, and what they or a block denied; in shadow, what they would have allowed or denied. */
  readonly allowed: number;
  readonly denied: number;
  /** How many of these were decided without the store. */
  readonly degraded: number;
}

/** The decisions of ten seconds, or of ten minutes. */
export interface UsageSpan extends UsageCounts {
  /** When it began: milliseconds since the epoch, by the server's clock. */
  readonly from: number;
}

/** Characters of a place, and of a number in it. */
const PLACE = 40;
const DIGITS = 10;

/** A series as it is kept. */
export interface KeptSeries {
  readonly name: string;
  readonly tenSeconds: readonly UsageSpan[];
  readonly tenMinutes: readonly UsageSpan[];
}

/** A subject of a list: it asked at most `count` times, and may not have asked `error` of them. */
export interface KeptSubject {
  readonly item: string;
  readonly count: number;
  readonly error: number;
}

/** A list as it is kept. */
export interface KeptList {
  /** How often at most a subject asked without being noted here. */
  readonly missed: number;
  /** How often at most a subject was noted that is not in the list. */
  readonly floor: number;
  readonly total: number;
  readonly subjects: readonly KeptSubject[];
}

export interface KeptTops {
  readonly used: KeptList;
  readonly denied: KeptList;
}

/** The limiters that an index names. */
export function readUsageIndex(text: string): readonly string[] | Unreadable {
  return readBody("usage", text, (body) => {
    const lines = body.split("\n").map((line) => /^([\w-]{16}) \d{10}$/.exec(line)?.[1]);
    return lines.every((id) => id !== undefined) ? (lines as string[]) : "damaged";
  });
}

export function readSeries(text: string): KeptSeries | Unreadable {
  return readBody("usage", text, (body) => {
    const shorts = SHORT_PLACES * PLACE;
    const all = shorts + LONG_PLACES * PLACE;
    const digits = body.slice(0, all);
    if (digits.length !== all || /\D/.test(digits)) return "damaged";
    return {
      name: body.slice(all),
      tenSeconds: readSpans(digits.slice(0, shorts), SHORT_SPAN),
      tenMinutes: readSpans(digits.slice(shorts), LONG_SPAN),
    };
  });
}

export function readTops(text: string): KeptTops | Unreadable {
  return readBody("usage", text, (body) => {
    const [used, denied] = body.split("\n").map(readList);
    return used === undefined || denied === undefined ? "damaged" : { used, denied };
  });
}

/** Who an item is of: the hash of a subject, or the subject as it was given. Undefined where it makes no sense. */
export function readItem(
  item: string,
): { dimension: string; subject: string } | { dimension: string; hash: string } | undefined {
  const [, dimension = "", hash, part = ""] = /^([\w.-]+)(?:#([\w-]{16})| (.+))$/.exec(item) ?? [];
  if (hash !== undefined) return { dimension, hash };
  const subject = readPart(part);
  return subject ? { dimension, subject } : undefined;
}

/** Those places that were ever taken, in the order of time. */
function readSpans(places: string, span: number): UsageSpan[] {
  const spans: UsageSpan[] = [];
  for (let at = 0; at < places.length; at += PLACE) {
    const numberAt = (i: number): number =>
      Number(places.slice(at + i * DIGITS, at + (i + 1) * DIGITS));
    if (numberAt(0) === 0) continue;
    spans.push({
      from: (numberAt(0) * span) / 1_000,
      allowed: numberAt(1),
      denied: numberAt(2),
      degraded: numberAt(3),
    });
  }
  return spans.sort((one, other) => one.from - other.from);
}

function readList(text: string): KeptList | undefined {
  const list = parseJson(text);
  if (!Array.isArray(list) || list.length % 3 !== 0) return undefined;
  const [missed, floor, total, ...flat] = list as unknown[];
  const subjects: KeptSubject[] = [];
  for (let at = 0; at < flat.length; at += 3) {
    const [item, count, error] = flat.slice(at, at + 3);
    if (typeof item !== "string" || !isWhole(count) || !isWhole(error)) return undefined;
    subjects.push({ item, count, error });
  }
  if (!isWhole(missed) || !isWhole(floor) || !isWhole(total)) return undefined;
  return { missed, floor, total, subjects };
}
