import type { ControlRecord, Order, Override } from "../control/record.ts";
import { IN_FORCE_AFTER } from "../control/record.ts";
import type { ForgottenSubject } from "./forgotten-subject.ts";

/**
 * An order is kept for so many microseconds after it is in force. What a process remembers of a subject is older than the order, and
 * does not last as long: a denial a second, a lease its ttl, a minute at most.
 */
const ORDER_KEPT = 120_000_000;

/** So many orders are kept at most; the oldest make room. */
const MAX_ORDERS = 256;

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
  const dropped = orders.splice(0, Math.max(0, orders.length - MAX_ORDERS));
  const droppedTo =
    dropped.length > 0 ? Math.max(...dropped.map(({ from }) => from)) : draft.droppedTo;
  return { ...draft, orders, droppedTo };
}

/** The record with other overrides. */
export function withOverrides(
  record: ControlRecord,
  overrides: readonly Override[],
  now: number,
): Draft {
  return withoutPast({ ...record, overrides }, now);
}

/**
 * The record without what names a subject. Whoever remembers anything drops all of it, because an order would name the subject.
 */
export function withoutSubject(
  record: ControlRecord,
  forgotten: ForgottenSubject,
  now: number,
): Draft {
  const { overrides, orders } = withoutPast(record, now);
  return {
    overrides: overrides.filter(({ subject }) => !forgotten.isIn(subject)),
    orders: orders.filter(({ subject }) => !forgotten.isIn(subject)),
    droppedTo: Math.max(now + IN_FORCE_AFTER, (record.droppedTo ?? 0) + 1),
  };
}

/** The record as it is: what is only written down. */
export function withNothing(record: ControlRecord, now: number): Draft {
  return withoutPast(record, now);
}

/** For how many milliseconds a record is needed; undefined for as long as nobody changes it. */
export function neededMs({ overrides, orders, droppedTo }: Draft, now: number): number | undefined {
  if (overrides.some(({ until }) => until === null)) return undefined;
  const ends = [
    ...overrides.map(({ until }) => fromNow(until as number, now)),
    ...[...orders.map(({ from }) => from), droppedTo ?? now].map(
      (from) => fromNow(from, now) + ORDER_KEPT,
    ),
  ];
  return Math.ceil(Math.max(...ends) / 1_000);
}

/** Without what has ended. */
function withoutPast({ overrides, orders, droppedTo }: ControlRecord, now: number): Draft {
  const isKept = (from: number): boolean => fromNow(from, now) + ORDER_KEPT > 0;
  return {
    overrides: overrides.filter(({ until }) => until === null || fromNow(until, now) > 0),
    orders: orders.filter(({ from }) => isKept(from)),
    droppedTo: droppedTo !== undefined && isKept(droppedTo) ? droppedTo : undefined,
  };
}

/** Microseconds from now. */
function fromNow(time: number, now: number): number {
  return time < 0 ? -time : time - now;
}
