import { HeadgateError } from "../../base/errors.ts";
import type { ForgottenSubject } from "./forgotten-subject.ts";
import type { ControlRecord, Order, Override } from "./record.ts";
import { IN_FORCE_AFTER, MAX_ORDERS } from "./record.ts";
import { MAX_LINE, MAX_RECORD_BYTES, writeBody } from "./record-text.ts";

/**
 * An order is kept for so many microseconds after it is in force. What a process remembers of a subject is older than the order, and
 * does not last as long: a denial a second, a lease its ttl, a minute at most.
 */
const ORDER_KEPT = 120_000_000;

/** What the server adds to a text: its version, and the digits of times from now. */
const ADDED_BYTES = 1_024;

/** Kept free of overrides and of the deny list, for an order with the longest line: in an emergency, there is no time to make room. */
const ORDER_BYTES = 3 * MAX_LINE;

/** A record, and the server's clock when it was read, in microseconds. */
export interface ReadControl {
  readonly record: ControlRecord;
  readonly now: number;
}

/** A record that is to be written: a negative time is one from the moment in which it is. */
export type Draft = Omit<ControlRecord, "version">;

/** The record with one more order, in force as soon as all processes may know of it. */
export function withOrder(record: ControlRecord, order: Omit<Order, "from">, now: number): Draft {
  const draft = withoutPast(record, now);
  const orders = [...draft.orders, { ...order, from: -IN_FORCE_AFTER }];
  return withoutOldest({ ...draft, orders }, orders.length - MAX_ORDERS);
}

/** A draft without so many of its oldest orders: processes forget all that they remember from before them. */
function withoutOldest(draft: Draft, count: number): Draft {
  if (count <= 0) return draft;
  const droppedTo = Math.max(...draft.orders.slice(0, count).map(({ from }) => from));
  return { ...draft, orders: draft.orders.slice(count), droppedTo };
}

/**
 * The text of a draft. Of one that would be too long, the older half of the orders makes room. Throws `HEADGATE_INVALID_OPTION` for
 * one that is too long without them.
 */
export function writeDraft(draft: Draft): string {
  const text = writeBody(draft);
  const bytes = Buffer.byteLength(text) + ADDED_BYTES;
  const longest = text.split("\n").reduce((most, line) => Math.max(most, line.length), 0);
  if (longest > MAX_LINE) {
    throw new HeadgateError(
      "HEADGATE_INVALID_OPTION",
      `a subject and what is written of it must have at most ${MAX_LINE} characters as JSON, got ${longest}`,
    );
  }
  if (bytes <= MAX_RECORD_BYTES) return text;
  // The last one is what is being done.
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
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `the overrides and the deny list would have ${bytes} bytes in the control record, and may have ${most}: remove overrides, or entries of the deny list`,
  );
}

/** The record without the items that name a subject. Processes forget all that they remember, because an order would name the subject. */
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

/** For how many milliseconds a record is needed; undefined until the next change. */
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

/** Microseconds from now. */
function fromNow(time: number, now: number): number {
  return time < 0 ? -time : time - now;
}
