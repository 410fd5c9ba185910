import { HeadgateError, invalidOption } from "../common/errors.ts";
import type { Operation } from "../store/store.ts";
import type { ControlDeps } from "./control-cache.ts";
import type { ActionLog, NewLogEntry } from "./log-entry.ts";
import { formatEntry, parseEntries, redactedEntries } from "./log-entry.ts";
import {
  changeControl,
  controlKey,
  readActionLog,
  readControl,
  redactActionLog,
} from "./operations.ts";
import type { ControlRecord, ForgottenSubject, Invalidation, Override } from "./record.ts";
import { EFFECTIVE_AFTER_MICROS, MAX_INVALIDATIONS } from "./record.ts";
import { formatBody, MAX_LINE_CHARACTERS, MAX_RECORD_BYTES, parseRecord } from "./record-text.ts";

/** How often a change is tried when others change the record at the same time. */
const MAX_TRIES = 32;

/** A record to write, and the entry for the log. */
interface ControlEdit {
  readonly draft: ControlDraft;
  readonly entry: NewLogEntry;
}

/** The control record of a store's prefix, and its log. All methods reject with the store's errors. */
export class ControlStore {
  readonly #deps: ControlDeps;
  readonly #recordKey: string;

  constructor(deps: ControlDeps) {
    this.#deps = deps;
    this.#recordKey = controlKey(deps.store.prefix);
  }

  #run<Call, Reply>(operation: Operation<Call, Reply>, call: Call): Promise<Reply> {
    const { store, monitor } = this.#deps;
    return monitor.run(store, operation, call, this.#recordKey);
  }

  /** Rejects with `HEADGATE_CONTROL_CORRUPT`. */
  async read(): Promise<ControlSnapshot> {
    const call = { key: this.#recordKey, knownVersion: undefined };
    const { now, state, text } = await this.#run(readControl, call);
    const record = state === "changed" ? parseRecord(text) : undefined;
    if (record !== undefined) return { record, now };
    const problem =
      state === "too-long"
        ? `has more than ${MAX_RECORD_BYTES} bytes, which no version writes: delete the key`
        : "is damaged or of another version: deploy the version that wrote it, or delete the key";
    throw new HeadgateError(
      "HEADGATE_CONTROL_CORRUPT",
      `the control record ${this.#recordKey} ${problem}`,
    );
  }

  /** Changes the record, and appends to the log, unless `dryRun`. Resolves with the time of the change, in microseconds. */
  async change(
    makeEdit: (read: ControlSnapshot) => ControlEdit,
    dryRun: boolean | undefined = false,
  ): Promise<number> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { record, now } = await this.read();
      const { draft, entry } = makeEdit({ record, now });
      const body = formatDraft(draft);
      if (dryRun) return now;
      const call = {
        prefix: this.#deps.store.prefix,
        version: record.version,
        body,
        ttlMs: ttlMsOf(draft, now),
        entry: formatEntry(entry),
      };
      const { now: changedAt, isChanged } = await this.#run(changeControl, call);
      if (isChanged) return changedAt;
    }
    throw new HeadgateError(
      "HEADGATE_STORE_UNAVAILABLE",
      `others changed the control record during each of ${MAX_TRIES} tries: try again`,
    );
  }

  async log(): Promise<ActionLog> {
    return parseEntries(await this.#logText());
  }

  /** Redacts a subject in the log, unless `dryRun`. Resolves with the number of entries that name it. */
  async redactLog(forgotten: ForgottenSubject, dryRun = false): Promise<number> {
    const replacements = redactedEntries(await this.#logText(), forgotten);
    if (replacements.length === 0 || dryRun) return replacements.length;
    const { prefix } = this.#deps.store;
    return this.#run(redactActionLog, { prefix, replacements });
  }

  #logText(): Promise<string> {
    return this.#run(readActionLog, this.#deps.store.prefix);
  }
}

/**
 * How long an invalidation is kept after it took effect, in microseconds. Anything that a process cached about the subject before
 * expires sooner: a denial after a second, a lease after its `ttl`, at most a minute.
 */
const INVALIDATION_KEPT_MICROS = 120_000_000;

/** Bytes that the server adds to a text: its version, and the digits of relative times. */
const ADDED_BYTES = 1_024;

/**
 * Room reserved for an invalidation with the longest possible line, in addition to overrides and deny list: in an emergency,
 * there is no time to make room.
 */
const INVALIDATION_BYTES = 3 * MAX_LINE_CHARACTERS;

/** A record, and the server's clock when it was read, in microseconds. */
export interface ControlSnapshot {
  readonly record: ControlRecord;
  readonly now: number;
}

/** A record to be written. A negative time counts from the moment of writing: -5 stands for 5 µs after it. */
export type ControlDraft = Omit<ControlRecord, "version">;

/** The record with one more invalidation, which takes effect once every process has had time to read it. */
export function withInvalidation(
  record: ControlRecord,
  invalidation: Omit<Invalidation, "from">,
  now: number,
): ControlDraft {
  const draft = withoutExpired(record, now);
  const invalidations = [
    ...draft.invalidations,
    { ...invalidation, from: -EFFECTIVE_AFTER_MICROS },
  ];
  return withoutOldestInvalidations(
    { ...draft, invalidations },
    invalidations.length - MAX_INVALIDATIONS,
  );
}

/** A draft without this many of its oldest invalidations: processes then drop everything cached before those. */
function withoutOldestInvalidations(draft: ControlDraft, count: number): ControlDraft {
  if (count <= 0) return draft;
  const invalidateAllBefore = Math.max(
    ...draft.invalidations.slice(0, count).map(({ from }) => from),
  );
  return { ...draft, invalidations: draft.invalidations.slice(count), invalidateAllBefore };
}

/**
 * The text of a draft. If it would be too long, the older half of the invalidations is dropped. Throws `HEADGATE_INVALID_OPTION` if it
 * is too long even without them.
 */
export function formatDraft(draft: ControlDraft): string {
  const text = formatBody(draft);
  const bytes = Buffer.byteLength(text) + ADDED_BYTES;
  const longest = text.split("\n").reduce((most, line) => Math.max(most, line.length), 0);
  if (longest > MAX_LINE_CHARACTERS) {
    throw invalidOption(
      `a subject and the data about it must have at most ${MAX_LINE_CHARACTERS} characters as JSON, got ${longest}`,
    );
  }
  if (bytes <= MAX_RECORD_BYTES) return text;
  // The last invalidation is the action being performed.
  const older = Math.ceil((draft.invalidations.length - 1) / 2);
  if (older > 0) return formatDraft(withoutOldestInvalidations(draft, older));
  throw tooLong(bytes, MAX_RECORD_BYTES);
}

/** Throws `HEADGATE_INVALID_OPTION` for a draft whose overrides and deny list leave too little room for invalidations. */
export function requireRoomForInvalidations(draft: ControlDraft): void {
  const bytes = Buffer.byteLength(formatBody({ ...draft, invalidations: [] }));
  const most = MAX_RECORD_BYTES - ADDED_BYTES - INVALIDATION_BYTES;
  if (bytes > most) throw tooLong(bytes, most);
}

function tooLong(bytes: number, most: number): HeadgateError {
  return invalidOption(
    `the overrides and the deny list would have ${bytes} bytes in the control record, and may have ${most}: remove overrides, or entries of the deny list`,
  );
}

/**
 * The record without the items that name a subject. Processes then drop everything cached, because an invalidation would name the
 * subject.
 */
export function withoutSubject(
  record: ControlRecord,
  forgotten: ForgottenSubject,
  now: number,
): ControlDraft {
  const { overrides, invalidations, denyList } = withoutExpired(record, now);
  return {
    denyList,
    overrides: overrides.filter(({ subject }) => !forgotten.matches(subject)),
    invalidations: invalidations.filter(({ subject }) => !forgotten.matches(subject)),
    invalidateAllBefore: Math.max(
      now + EFFECTIVE_AFTER_MICROS,
      (record.invalidateAllBefore ?? 0) + 1,
    ),
  };
}

/** The lifetime of the record in milliseconds; undefined to keep it until the next change. */
function ttlMsOf(draft: ControlDraft, now: number): number | undefined {
  const { overrides, invalidations, denyList = [], invalidateAllBefore } = draft;
  const expiring = [...overrides, ...denyList];
  if (expiring.some(({ until }) => until === null)) return undefined;
  const ends = [
    ...expiring.map(({ until }) => fromNow(until as number, now)),
    ...[...invalidations.map(({ from }) => from), invalidateAllBefore ?? now].map(
      (from) => fromNow(from, now) + INVALIDATION_KEPT_MICROS,
    ),
  ];
  return Math.ceil(Math.max(...ends) / 1_000);
}

/** The record without expired items. */
export function withoutExpired(record: ControlRecord, now: number): ControlDraft {
  const { overrides, invalidations, denyList = [], invalidateAllBefore } = record;
  const isKept = (from: number): boolean => fromNow(from, now) + INVALIDATION_KEPT_MICROS > 0;
  const lasts = ({ until }: Pick<Override, "until">): boolean =>
    until === null || fromNow(until, now) > 0;
  return {
    overrides: overrides.filter(lasts),
    denyList: denyList.filter(lasts),
    invalidations: invalidations.filter(({ from }) => isKept(from)),
    invalidateAllBefore:
      invalidateAllBefore !== undefined && isKept(invalidateAllBefore)
        ? invalidateAllBefore
        : undefined,
  };
}

/** A time relative to now, in microseconds. */
function fromNow(time: number, now: number): number {
  return time < 0 ? -time : time - now;
}
