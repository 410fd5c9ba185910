import {
  exactObjectOf,
  isBoolean,
  isString,
  isWholeNumber,
  oneOf,
  optional,
  parseJson,
  recordOf,
} from "../common/type-guards.ts";
import { parseNetwork } from "../net/network.ts";
import type {
  ControlRecord,
  DeniedNetwork,
  Invalidation,
  LimitOverride,
  Override,
} from "./record.ts";
import { MAX_DENIED, MAX_INVALIDATIONS, MAX_OVERRIDES, NO_RECORD } from "./record.ts";

/*
 * The text of a record: its version, a head as JSON, and a line for each override, invalidation and entry of the deny list,
 * made of its kind and its JSON. Reading line by line keeps the work in one turn of the event loop small, however large the
 * record is.
 */

/** The longest record that is read, in bytes, as in read.lua. */
export const MAX_RECORD_BYTES = 1_000_000;

/** The longest line, in characters: any JSON of that length can be parsed in a few milliseconds. */
export const MAX_LINE_CHARACTERS = 65_536;

/** The text begins with the version, in this many digits, so that the version can be read alone. */
export const VERSION_DIGITS = 16;

/** The unit counts: an override changes nothing else of a limit. */
export const LIMIT_OVERRIDE_FIELDS = ["limit", "burst", "capacity", "refill"] as const;

/** A record in another format is not read, rather than guessed at. */
const FORMAT = 2;

/** The longest work in one turn of the event loop, in milliseconds. */
const TURN_MS = 5;

type Body = Omit<ControlRecord, "version">;

const isRecordOfNames = recordOf(isName);

const isSubject = (value: unknown): value is Readonly<Record<string, string>> =>
  isRecordOfNames(value) && Object.keys(value).length > 0;

/** When an item ends; null if it does not. */
const isEnd = (value: unknown): value is number | null => value === null || isWholeNumber(value);

/** Checks the form of an override, not its numbers. */
const isOverride = exactObjectOf<Override>({
  limiter: isName,
  subject: optional(isSubject),
  limits: optional(
    recordOf(
      exactObjectOf<LimitOverride>({
        limit: optional(isWholeNumber),
        burst: optional(isWholeNumber),
        capacity: optional(isWholeNumber),
        refill: optional(isWholeNumber),
      }),
    ),
  ),
  shadow: optional(isBoolean),
  from: isWholeNumber,
  until: isEnd,
});

const isInvalidation = exactObjectOf<Invalidation>({
  limiter: isName,
  subject: isSubject,
  kind: oneOf("reset", "block", "unblock"),
  from: isWholeNumber,
});

const isDenied = exactObjectOf<DeniedNetwork>({
  network: (value): value is string => parseNetwork(value) !== undefined,
  reason: optional(isString),
  by: optional(isString),
  from: isWholeNumber,
  until: isEnd,
});

const isHead = exactObjectOf<{
  readonly format: typeof FORMAT;
  readonly invalidateAllBefore?: number | undefined;
}>({ format: oneOf(FORMAT), invalidateAllBefore: optional(isWholeNumber) });

function isName(value: unknown): value is string {
  return isString(value) && value !== "";
}

/** The kinds of lines: a check for their items, and how many there may be. */
const KINDS = {
  override: { isItem: isOverride, most: MAX_OVERRIDES },
  invalidation: { isItem: isInvalidation, most: MAX_INVALIDATIONS },
  deny: { isItem: isDenied, most: MAX_DENIED },
} as const;

type Kind = keyof typeof KINDS;

/** Writes a record as stored. */
export function formatRecord(record: ControlRecord): string {
  return formatVersion(record.version) + formatBody(record);
}

/** Writes the beginning of a record; empty if there is none. */
export function formatVersion(version: number): string {
  return version === 0 ? "" : String(version).padStart(VERSION_DIGITS, "0");
}

/** The text of a record without its version. */
export function formatBody({
  overrides,
  invalidations,
  denyList = [],
  invalidateAllBefore,
}: Body): string {
  return [
    JSON.stringify({ format: FORMAT, invalidateAllBefore }),
    ...overrides.map((one) => formatLine("override", one)),
    ...invalidations.map((one) => formatLine("invalidation", one)),
    ...denyList.map((one) => formatLine("deny", one)),
  ].join("\n");
}

function formatLine(kind: Kind, item: object): string {
  return `${kind} ${JSON.stringify(item)}`;
}

/** Reads a stored record; undefined if any part of it is invalid. An empty string means no record. */
export function parseRecord(text: string): ControlRecord | undefined {
  const lines = parseLines(text);
  for (;;) {
    const { done, value } = lines.next();
    if (done === true) return value;
  }
}

/** The same, in turns of the event loop of about 5 ms each. A small record takes one turn, and resolves without waiting. */
export async function parseRecordAsync(text: string): Promise<ControlRecord | undefined> {
  const lines = parseLines(text);
  for (let began = performance.now(); ; ) {
    const { done, value } = lines.next();
    if (done === true) return value;
    if (performance.now() - began < TURN_MS) continue;
    await new Promise((resolve) => setImmediate(resolve));
    began = performance.now();
  }
}

/** The version of a text, whether the text is valid or not; undefined if it has none. */
export function parseVersion(text: string): number | undefined {
  const version = text.slice(0, VERSION_DIGITS);
  return /^\d{16}$/.test(version) ? Number(version) : undefined;
}

/** Reads a line with each step. */
function* parseLines(text: string): Generator<void, ControlRecord | undefined, void> {
  if (text === "") return NO_RECORD;
  const version = parseVersion(text);
  let end = endOfLine(text, VERSION_DIGITS);
  const head = parseHead(text.slice(VERSION_DIGITS, end));
  if (version === undefined || head === undefined) return undefined;
  const items: Readonly<Record<Kind, object[]>> = { override: [], invalidation: [], deny: [] };
  while (end < text.length) {
    const start = end + 1;
    end = endOfLine(text, start);
    if (end - start > MAX_LINE_CHARACTERS || !addLine(items, text.slice(start, end)))
      return undefined;
    yield;
  }
  const { override, invalidation, deny } = items;
  return {
    version,
    overrides: override as Override[],
    invalidations: invalidation as Invalidation[],
    ...(deny.length === 0 ? {} : { denyList: deny as DeniedNetwork[] }),
    ...head,
  };
}

function endOfLine(text: string, start: number): number {
  const end = text.indexOf("\n", start);
  return end === -1 ? text.length : end;
}

function parseHead(line: string): Pick<ControlRecord, "invalidateAllBefore"> | undefined {
  const head = line.length > MAX_LINE_CHARACTERS ? undefined : parseJson(line);
  if (!isHead(head)) return undefined;
  const { format, ...rest } = head;
  return rest;
}

/** Adds the item of a line; returns whether it is valid. */
function addLine(items: Readonly<Record<Kind, object[]>>, line: string): boolean {
  const gap = line.indexOf(" ");
  const kind = line.slice(0, gap) as Kind;
  if (!Object.hasOwn(KINDS, kind)) return false;
  const { isItem, most } = KINDS[kind];
  const item = parseJson(line.slice(gap + 1));
  return isItem(item) && items[kind].push(item) <= most;
}
