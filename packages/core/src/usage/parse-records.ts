import { unescapePart } from "../common/key.ts";
import { isRecordOf, isWholeNumber, parseJson } from "../common/type-guards.ts";
import type { UnreadableReason } from "../registry/unreadable.ts";
import { parseBody } from "../registry/unreadable.ts";
import {
  HOUR_MICROS,
  SHORT_SPAN_MICROS,
  SHORT_SPANS,
  TEN_MINUTES_KEPT,
  TEN_MINUTES_MICROS,
} from "./operations.ts";

/** Numbers of decisions. */
export interface UsageCounts {
  /** Allowed by the limits, and denied by them or by a block; in shadow mode, as it would have been. */
  readonly allowed: number;
  readonly denied: number;
  /** How many of these were decided without the store. */
  readonly degraded: number;
}

/** The decisions of ten seconds, of ten minutes, or of an hour. */
export interface UsageSpan extends UsageCounts {
  /** When it began: milliseconds since the epoch, by the server's clock. */
  readonly from: number;
}

/** Characters of a slot, and of a number in it. */
const SPAN_CHARACTERS = 40;
const DECIMAL_DIGITS = 10;

/** Hours of a day. */
const HOURS_PER_DAY = 24;

/** A stored series. */
export interface StoredSeries {
  readonly name: string;
  readonly tenSeconds: readonly UsageSpan[];
  readonly tenMinutes: readonly UsageSpan[];
}

/** The denials of each limit, by its dimension and name; or `DENIED_BY_BLOCK`, or `DENIED_BY_OTHER_LIMITS`. */
export type StoredDenials = Readonly<Record<string, number>>;

/** The stored record of a limiter for a day. */
export interface StoredDay {
  readonly name: string;
  /** The hours with decisions, in chronological order. */
  readonly hours: readonly UsageSpan[];
  readonly denialsByLimit: StoredDenials;
}

/** A subject in a list, with at most `count` decisions, and at least `count - error`. `TopSubject.count` is the lower bound. */
export interface StoredSubject {
  readonly item: string;
  readonly count: number;
  readonly error: number;
}

/** A stored list. */
export interface StoredList {
  /** The largest possible count of a subject that no process reported. */
  readonly missed: number;
  /** The largest possible count of a reported subject outside the list. */
  readonly floor: number;
  readonly total: number;
  readonly subjects: readonly StoredSubject[];
}

export interface StoredTopSubjects {
  readonly used: StoredList;
  readonly denied: StoredList;
}

/** The limiters that an index names. */
export function parseUsageIndex(text: string): readonly string[] | UnreadableReason {
  return parseBody("usage", text, (body) => {
    const lines = body.split("\n").map((line) => /^([\w-]{16}) \d{10}$/.exec(line)?.[1]);
    return lines.every((id) => id !== undefined) ? (lines as string[]) : "damaged";
  });
}

export function parseSeries(text: string): StoredSeries | UnreadableReason {
  return parseBody("usage", text, (body) => {
    const shorts = SHORT_SPANS * SPAN_CHARACTERS;
    const all = shorts + TEN_MINUTES_KEPT * SPAN_CHARACTERS;
    const digits = body.slice(0, all);
    if (digits.length !== all || /\D/.test(digits)) return "damaged";
    return {
      name: body.slice(all),
      tenSeconds: parseSpans(digits.slice(0, shorts), SHORT_SPAN_MICROS),
      tenMinutes: parseSpans(digits.slice(shorts), TEN_MINUTES_MICROS),
    };
  });
}

/** The limiters that the list of a day names. */
export function parseDayList(text: string): readonly string[] | UnreadableReason {
  return parseBody("usage", text, (body) => {
    const ids = body.split("\n");
    return ids.every((id) => /^[\w-]{16}$/.test(id)) ? ids : "damaged";
  });
}

/** A block in the list. */
export interface StoredBlock {
  /** The entry, without its time. */
  readonly blockedSubject: string;
  /** The limiter's name as a part of a key. */
  readonly limiter: string;
  readonly dimension: string;
  /** Whether usage stores its subject as a hash. */
  readonly isHashed: boolean;
  /** The subject as a part of a key. */
  readonly part: string;
}

export function parseBlockList(text: string): readonly StoredBlock[] | UnreadableReason {
  return parseBody("usage", text, (body) => {
    const lines = body.split("\n").map((line) => /^\d{10} ((\S+) (\S+) ([hp])(\S+))$/.exec(line));
    if (lines.includes(null)) return "damaged";
    return lines.map((match) => {
      const [, blockedSubject, limiter, dimension, letter, part] = match as unknown as string[];
      return { blockedSubject, limiter, dimension, isHashed: letter === "h", part } as StoredBlock;
    });
  });
}

/** When a process last reported, in milliseconds since the epoch; 0 if an earlier version did not write it. */
export function parseReport(text: string): { readonly at: number } | UnreadableReason {
  const [found, at] = /^headgate usage 1 \d+(?: (\d+))?$/.exec(text) ?? [];
  return found === undefined ? "damaged" : { at: Number(at ?? 0) * 1_000 };
}

/** The record of a limiter for a day; days are numbered since the epoch. */
export function parseDay(text: string, day: number): StoredDay | UnreadableReason {
  return parseBody("usage", text, (body) => {
    const [, digits = "", json = "", name] = /^(\d{720})\n([^\n]*)\n(.*)$/s.exec(body) ?? [];
    const denialsByLimit = parseJson(json);
    if (name === undefined || !isRecordOf(denialsByLimit, isWholeNumber)) return "damaged";
    const hours = Array.from({ length: HOURS_PER_DAY }, (_, i): UsageSpan => {
      const numberAt = (j: number): number =>
        Number(digits.slice((3 * i + j) * DECIMAL_DIGITS, (3 * i + j + 1) * DECIMAL_DIGITS));
      const from = ((day * HOURS_PER_DAY + i) * HOUR_MICROS) / 1_000;
      return { from, allowed: numberAt(0), denied: numberAt(1), degraded: numberAt(2) };
    });
    return {
      name,
      hours: hours.filter(({ allowed, denied }) => allowed + denied > 0),
      denialsByLimit,
    };
  });
}

export function parseLimits(text: string): StoredDenials | UnreadableReason {
  return parseBody("usage", text, (body) => {
    const limits = parseJson(body);
    return isRecordOf(limits, isWholeNumber) ? limits : "damaged";
  });
}

export function parseTopSubjects(text: string): StoredTopSubjects | UnreadableReason {
  return parseBody("usage", text, (body) => {
    const [used, denied] = body.split("\n").map(parseList);
    return used === undefined || denied === undefined ? "damaged" : { used, denied };
  });
}

/** The subject of an item, plain or as a hash. Undefined if the item is invalid. */
export function parseItem(
  item: string,
): { dimension: string; subject: string } | { dimension: string; hash: string } | undefined {
  const [, dimension = "", hash, part = ""] = /^([\w.-]+)(?:#([\w-]{16})| (.+))$/.exec(item) ?? [];
  if (hash !== undefined) return { dimension, hash };
  const subject = unescapePart(part);
  return subject ? { dimension, subject } : undefined;
}

/** The slots that were ever used, in chronological order. */
function parseSpans(digits: string, span: number): UsageSpan[] {
  const spans: UsageSpan[] = [];
  for (let at = 0; at < digits.length; at += SPAN_CHARACTERS) {
    const numberAt = (i: number): number =>
      Number(digits.slice(at + i * DECIMAL_DIGITS, at + (i + 1) * DECIMAL_DIGITS));
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

function parseList(text: string): StoredList | undefined {
  const list = parseJson(text);
  if (!Array.isArray(list) || list.length % 3 !== 0) return undefined;
  const [missed, floor, total, ...flat] = list as unknown[];
  const subjects: StoredSubject[] = [];
  for (let at = 0; at < flat.length; at += 3) {
    const [item, count, error] = flat.slice(at, at + 3);
    if (typeof item !== "string" || !isWholeNumber(count) || !isWholeNumber(error))
      return undefined;
    subjects.push({ item, count, error });
  }
  if (!isWholeNumber(missed) || !isWholeNumber(floor) || !isWholeNumber(total)) return undefined;
  return { missed, floor, total, subjects };
}
