import { isListOf, isRecordOf, isWhole, parseJson } from "../from-json.ts";
import { isPlainObject } from "../plain-object.ts";

/** The control record: what all processes of a prefix must know. Times are microseconds of the server's clock. */
export interface ControlRecord {
  /** Changes with each change of the record: the time of the change. 0 if there is no record. */
  readonly version: number;
  readonly overrides: readonly Override[];
  readonly orders: readonly Order[];
  /** The `from` of the last order that was dropped to make room: processes forget everything that they remember from before it. */
  readonly droppedTo?: number | undefined;
}

/** Other numbers for a limiter, or for one of its subjects, for a time. */
export interface Override {
  readonly limiter: string;
  /** By dimension. Missing: all subjects. */
  readonly subject?: Readonly<Record<string, string>> | undefined;
  /** By the name of a limit. */
  readonly limits?: Readonly<Record<string, OverrideNumbers>> | undefined;
  /** Whether the limiter is in shadow meanwhile: it denies nobody. */
  readonly shadow?: boolean | undefined;
  readonly from: number;
  /** Null: until it is removed. */
  readonly until: number | null;
}

/** The numbers of units that replace a limit's own. */
export interface OverrideNumbers {
  readonly limit?: number | undefined;
  readonly burst?: number | undefined;
  readonly capacity?: number | undefined;
  readonly refill?: number | undefined;
}

/** An action on a subject: processes that read it forget what they remember about the subject. */
export interface Order {
  readonly limiter: string;
  /** By dimension. */
  readonly subject: Readonly<Record<string, string>>;
  readonly kind: "reset" | "block" | "unblock";
  /** From then on nothing that was remembered before decides anywhere. */
  readonly from: number;
}

/** What applies without a record. */
export const NO_RECORD: ControlRecord = { version: 0, overrides: [], orders: [] };

/** In microseconds: a process does not decide by a record that it read longer ago than this, unless it cannot read. */
export const LONGEST_BELIEVED = 1_900_000;

/** In microseconds: how long after a change all processes decide by it, even those whose clocks run slowly. */
export const IN_FORCE_AFTER = 2_000_000;

/** The most overrides in a record. */
export const MAX_OVERRIDES = 1_000;

/** The version is in front, in so many digits, so that it can be read alone. */
export const VERSION_DIGITS = 16;

/** The numbers of units: an override changes nothing else of a limit. */
export const OVERRIDE_NUMBERS = ["limit", "burst", "capacity", "refill"] as const;

/** Another format is not read at all, rather than guessed at. */
const FORMAT = 1;

type Properties = Readonly<Record<string, unknown>>;

/** Writes a record as it is kept. */
export function writeRecord(record: ControlRecord): string {
  return writeVersion(record.version) + writeBody(record);
}

/** Writes the beginning of a record; empty if there is none. */
export function writeVersion(version: number): string {
  return version === 0 ? "" : String(version).padStart(VERSION_DIGITS, "0");
}

/** The same without its version. */
export function writeBody({
  overrides,
  orders,
  droppedTo,
}: Omit<ControlRecord, "version">): string {
  return JSON.stringify({ format: FORMAT, overrides, orders, droppedTo });
}

/** Reads a record as it is kept; undefined if any part of it is invalid. An empty string is no record. */
export function readRecord(text: string): ControlRecord | undefined {
  if (text === "") return NO_RECORD;
  const version = text.slice(0, VERSION_DIGITS);
  const body = parseJson(text.slice(VERSION_DIGITS));
  if (!/^\d{16}$/.test(version) || !isBody(body)) return undefined;
  const { format: _, ...parts } = body;
  return { version: Number(version), ...parts };
}

function isBody(body: unknown): body is Omit<ControlRecord, "version"> & { format: number } {
  return (
    hasOnly(body, ["format", "overrides", "orders", "droppedTo"]) &&
    body["format"] === FORMAT &&
    isListOf(body["overrides"], isOverride) &&
    body["overrides"].length <= MAX_OVERRIDES &&
    isListOf(body["orders"], isOrder) &&
    (body["droppedTo"] === undefined || isWhole(body["droppedTo"]))
  );
}

/** Whether a value has the form of an override, whatever its numbers. */
function isOverride(value: unknown): value is Override {
  return (
    hasOnly(value, ["limiter", "subject", "limits", "shadow", "from", "until"]) &&
    isName(value["limiter"]) &&
    (value["subject"] === undefined || isSubject(value["subject"])) &&
    (value["limits"] === undefined || isRecordOf(value["limits"], isNumbers)) &&
    (value["shadow"] === undefined || typeof value["shadow"] === "boolean") &&
    isWhole(value["from"]) &&
    (value["until"] === null || isWhole(value["until"]))
  );
}

function isOrder(value: unknown): value is Order {
  return (
    hasOnly(value, ["limiter", "subject", "kind", "from"]) &&
    isName(value["limiter"]) &&
    isSubject(value["subject"]) &&
    ["reset", "block", "unblock"].includes(value["kind"] as string) &&
    isWhole(value["from"])
  );
}

function isNumbers(value: unknown): value is OverrideNumbers {
  return hasOnly(value, OVERRIDE_NUMBERS) && Object.values(value).every(isWhole);
}

function isSubject(value: unknown): value is Readonly<Record<string, string>> {
  return isRecordOf(value, isName) && Object.keys(value).length > 0;
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

function hasOnly(value: unknown, known: readonly string[]): value is Properties {
  return isPlainObject(value) && Object.keys(value).every((name) => known.includes(name));
}
