import { isRecordOf, isWhole, parseJson } from "../common/from-json.ts";
import { readPart } from "../common/key.ts";
import type { Unreadable } from "../registry/unreadable.ts";
import { readBody } from "../registry/unreadable.ts";
import { HOUR_SPAN, LONG_PLACES, LONG_SPAN, SHORT_PLACES, SHORT_SPAN } from "./steps.ts";

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
const PLACE = 40;
const DIGITS = 10;

/** Hours of a day. */
const HOURS = 24;

/** A stored series. */
export interface KeptSeries {
  readonly name: string;
  readonly tenSeconds: readonly UsageSpan[];
  readonly tenMinutes: readonly UsageSpan[];
}

/** The denials of each limit, by its dimension and name; or `BY_BLOCK`, or `BY_MORE`. */
export type KeptLimits = Readonly<Record<string, number>>;

/** The stored record of a limiter for a day. */
export interface KeptDay {
  readonly name: string;
  /** Those with decisions, in chronological order. */
  readonly hours: readonly UsageSpan[];
  readonly limits: KeptLimits;
}

/** A subject in a list: it asked at most `count` times, and at least `count - error` times. */
export interface KeptSubject {
  readonly item: string;
  readonly count: number;
  readonly error: number;
}

/** A stored list. */
export interface KeptList {
  /** The most that a subject may have asked without being recorded here. */
  readonly missed: number;
  /** The most that a recorded subject outside the list may have asked. */
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

/** The limiters that the list of a day names. */
export function readDayList(text: string): readonly string[] | Unreadable {
  return readBody("usage", text, (body) => {
    const ids = body.split("\n");
    return ids.every((id) => /^[\w-]{16}$/.test(id)) ? ids : "damaged";
  });
}

/** A block in the list. */
export interface KeptBlock {
  /** The entry, without its time. */
  readonly who: string;
  /** The limiter's name as a part of a key. */
  readonly limiter: string;
  readonly dimension: string;
  /** Whether usage stores its subject as a hash. */
  readonly isHashed: boolean;
  /** The subject as a part of a key. */
  readonly part: string;
}

export function readBlockList(text: string): readonly KeptBlock[] | Unreadable {
  return readBody("usage", text, (body) => {
    const lines = body.split("\n").map((line) => /^\d{10} ((\S+) (\S+) ([hp])(\S+))$/.exec(line));
    if (lines.includes(null)) return "damaged";
    return lines.map((match) => {
      const [, who, limiter, dimension, letter, part] = match as unknown as string[];
      return { who, limiter, dimension, isHashed: letter === "h", part } as KeptBlock;
    });
  });
}

/** When a process last reported, in milliseconds since the epoch; 0 if an earlier version did not write it. */
export function readReport(text: string): { readonly at: number } | Unreadable {
  const [found, at] = /^headgate usage 1 \d+(?: (\d+))?$/.exec(text) ?? [];
  return found === undefined ? "damaged" : { at: Number(at ?? 0) * 1_000 };
}

/** The record of a limiter for a day; days are numbered since the epoch. */
export function readDay(text: string, day: number): KeptDay | Unreadable {
  return readBody("usage", text, (body) => {
    const [, digits = "", json = "", name] = /^(\d{720})\n([^\n]*)\n(.*)$/s.exec(body) ?? [];
    const limits = parseJson(json);
    if (name === undefined || !isRecordOf(limits, isWhole)) return "damaged";
    const hours = Array.from({ length: HOURS }, (_, i): UsageSpan => {
      const numberAt = (j: number): number =>
        Number(digits.slice((3 * i + j) * DIGITS, (3 * i + j + 1) * DIGITS));
      const from = ((day * HOURS + i) * HOUR_SPAN) / 1_000;
      return { from, allowed: numberAt(0), denied: numberAt(1), degraded: numberAt(2) };
    });
    return { name, hours: hours.filter(({ allowed, denied }) => allowed + denied > 0), limits };
  });
}

export function readLimits(text: string): KeptLimits | Unreadable {
  return readBody("usage", text, (body) => {
    const limits = parseJson(body);
    return isRecordOf(limits, isWhole) ? limits : "damaged";
  });
}

export function readTops(text: string): KeptTops | Unreadable {
  return readBody("usage", text, (body) => {
    const [used, denied] = body.split("\n").map(readList);
    return used === undefined || denied === undefined ? "damaged" : { used, denied };
  });
}

/** The subject of an item, plain or as a hash. Undefined if the item is invalid. */
export function readItem(
  item: string,
): { dimension: string; subject: string } | { dimension: string; hash: string } | undefined {
  const [, dimension = "", hash, part = ""] = /^([\w.-]+)(?:#([\w-]{16})| (.+))$/.exec(item) ?? [];
  if (hash !== undefined) return { dimension, hash };
  const subject = readPart(part);
  return subject ? { dimension, subject } : undefined;
}

/** The slots that were ever used, in chronological order. */
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
