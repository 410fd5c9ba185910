import type { HeadgateError } from "../common/errors.ts";
import { invalidOption } from "../common/errors.ts";
import type { ForgottenSubject } from "./forgotten-subject.ts";
import type { ControlRecord, Order, Override } from "./record.ts";
import { IN_FORCE_AFTER, MAX_ORDERS } from "./record.ts";
import { MAX_LINE, MAX_RECORD_BYTES, writeBody } from "./record-text.ts";

/**
 * How long an order is kept after it is in force, in microseconds. Anything that a process cached about the subject before the
 * order expires sooner: a denial after a second, a lease after its `ttl`, at most a minute.
 */
const ORDER_KEPT = 120_000_000;

/** Bytes that the server adds to a text: its version, and the digits of relative times. */
const ADDED_BYTES = 1_024;

/**
 * Room reserved beside overrides and deny list for an order with the longest possible line: in an emergency, there is no time
 * to make room.
 */
const ORDER_BYTES = 3 * MAX_LINE;

/** A record, and the server's clock when it was read, in microseconds. */
export interface ReadControl {
  readonly record: ControlRecord;
  readonly now: number;
}

/** A record to be written: negative times are relative to the moment of writing. */
export type Draft = Omit<ControlRecord, "version">;

/** The record with one more order, in force once every process has had time to read it. */
export function withOrder(record: ControlRecord, order: Omit<Order, "from">, now: number): Draft {
  const draft = withoutPast(record, now);
  const orders = [...draft.orders, { ...order, from: -IN_FORCE_AFTER }];
  return withoutOldest({ ...draft, orders }, orders.length - MAX_ORDERS);
}

/** A draft without this many of its oldest orders: processes then drop everything cached before those. */
function withoutOldest(draft: Draft, count: number): Draft {
  if (count <= 0) return draft;
  const droppedTo = Math.max(...draft.orders.slice(0, count).map(({ from }) => from));
  return { ...draft, orders: draft.orders.slice(count), droppedTo };
}

/**
 * The text of a draft. If it would be too long, the older half of the orders is dropped. Throws `HEADGATE_INVALID_OPTION` if it
 * is too long even without them.
 */
export function writeDraft(draft: Draft): string {
  const text = writeBody(draft);
  const bytes = Buffer.byteLength(text) + ADDED_BYTES;
  const longest = text.split("\n").reduce((most, line) => Math.max(most, line.length), 0);
  if (longest > MAX_LINE) {
    throw invalidOption(
      `a subject and what is written of it must have at most ${MAX_LINE} characters as JSON, got ${longest}`,
    );
  }
  if (bytes <= MAX_RECORD_BYTES) return text;
  // The last order is the action being performed.
  const older = Math.ceil((draft.orders.length - 1) / 2);
  if (older > 0) return writeDraft(withoutOldest(draft, older));
  throw tooLong(bytes, MAX_RECORD_BYTES);
}

/** Throws `HEADGATE_INVALID_OPTION` for a draft whose overrides and deny list leave too little room for orders. */
export function requireRoomForOrders(draft: Draft): void {
  const bytes = Buffer.byteLength(writeBody({ ...draft, orders: [] }));
  const most = MAX_RECORD_BYTES - ADDED_BYTES - ORDER_BYTES;
  if (bytes > most) throw tooLong(bytes, most);
}

function tooLong(bytes: number, most: number): HeadgateError {
  return invalidOption(
    `the overrides and the deny list would have ${bytes} bytes in the control record, and may have ${most}: remove overrides, or entries of the deny list`,
  );
}

/**
 * The record without the items that name a subject. Processes then drop everything cached, because an order would name the
 * subject.
 */
export function withoutSubject(
  record: ControlRecord,
  forgotten: ForgottenSubject,
  now: number,
): Draft {
  const { overrides, orders, denied } = withoutPast(record, now);
  return {
    denied,
    overrides: overrides.filter(({ subject }) => !forgotten.isIn(subject)),
    orders: orders.filter(({ subject }) => !forgotten.isIn(subject)),
    droppedTo: Math.max(now + IN_FORCE_AFTER, (record.droppedTo ?? 0) + 1),
  };
}

/** How many milliseconds the record is needed; undefined for until the next change. */
export function neededMs(draft: Draft, now: number): number | undefined {
  const { overrides, orders, denied = [], droppedTo } = draft;
  const lasting = [...overrides, ...denied];
  if (lasting.some(({ until }) => until === null)) return undefined;
  const ends = [
    ...lasting.map(({ until }) => fromNow(until as number, now)),
    ...[...orders.map(({ from }) => from), droppedTo ?? now].map(
      (from) => fromNow(from, now) + ORDER_KEPT,
    ),
  ];
  return Math.ceil(Math.max(...ends) / 1_000);
}

/** The record without the items that have ended. */
export function withoutPast(record: ControlRecord, now: number): Draft {
  const { overrides, orders, denied = [], droppedTo } = record;
  const isKept = (from: number): boolean => fromNow(from, now) + ORDER_KEPT > 0;
  const lasts = ({ until }: Pick<Override, "until">): boolean =>
    until === null || fromNow(until, now) > 0;
  return {
    overrides: overrides.filter(lasts),
    denied: denied.filter(lasts),
    orders: orders.filter(({ from }) => isKept(from)),
    droppedTo: droppedTo !== undefined && isKept(droppedTo) ? droppedTo : undefined,
  };
}

/** A time relative to now, in microseconds. */
function fromNow(time: number, now: number): number {
  return time < 0 ? -time : time - now;
}
