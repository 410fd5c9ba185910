import { isPlainObject } from "../access/plain-object.ts";
import type { Action, SubjectOf } from "../api.ts";
import { badRequest } from "../serve/refusal.ts";

/** 366 days, the longest duration. */
const LONGEST_MS = 31_622_400_000;

const SUBJECT_ACTIONS = ["unblock", "reset", "forget"] as const;
const ORDERS = ["open", "close", "reset"] as const;

type Fields = Readonly<Record<string, unknown>>;

/** Reads an action, which must have only the fields of its kind. Throws a `Refusal`; the operator checks the numbers of limits. */
export function readAction(given: unknown): Action {
  if (!isPlainObject(given)) throw badRequest("action must be an object");
  const { kind } = given;
  switch (kind) {
    case "block":
      requireFields(given, ["limiter", "subject", "forMs"]);
      return { kind, ...limiterOf(given), subject: subjectOf(given), forMs: timeOf(given) };
    case "setOverride":
      return readOverride(given);
    case "unsetOverride":
      requireFields(given, ["limiter", "subject"]);
      return { kind, ...limiterOf(given), ...perhapsSubject(given) };
    case "addToDenyList":
      requireFields(given, ["network", "forMs"]);
      return { kind, network: textOf(given, "network"), forMs: timeOrEver(given) };
    case "removeFromDenyList":
      requireFields(given, ["network"]);
      return { kind, network: textOf(given, "network") };
    case "breaker":
      return readOrder(given);
    default: {
      const known = SUBJECT_ACTIONS.find((one) => one === kind);
      if (known === undefined) throw badRequest("there is no action of this kind");
      requireFields(given, ["limiter", "subject"]);
      return { kind: known, ...limiterOf(given), subject: subjectOf(given) };
    }
  }
}

function readOverride(given: Fields): Action {
  requireFields(given, ["limiter", "subject", "limits", "shadow", "forMs"]);
  const { limits, shadow } = given;
  if (limits !== undefined && !isNumbersByLimit(limits)) {
    throw badRequest("limits must be numbers by the name of a limit");
  }
  if (shadow !== undefined && typeof shadow !== "boolean") {
    throw badRequest("shadow must be true or false");
  }
  return {
    kind: "setOverride",
    ...limiterOf(given),
    ...perhapsSubject(given),
    ...(limits === undefined ? {} : { limits }),
    ...(shadow === undefined ? {} : { shadow }),
    forMs: timeOrEver(given),
  };
}

/** Nothing is nested deeper: what hashes an action may go through it without end. */
function isNumbersByLimit(
  limits: unknown,
): limits is Readonly<Record<string, Readonly<Record<string, number>>>> {
  if (!isPlainObject(limits)) return false;
  return Object.values(limits).every(
    (fields) =>
      isPlainObject(fields) && Object.values(fields).every((number) => typeof number === "number"),
  );
}

function readOrder(given: Fields): Action {
  requireFields(given, ["breaker", "target", "order"]);
  const order = ORDERS.find((one) => one === given["order"]);
  if (order === undefined) throw badRequest(`order must be ${ORDERS.join(", ")}`);
  const [breaker, target] = [textOf(given, "breaker"), textOf(given, "target")];
  return { kind: "breaker", breaker, target, order };
}

function requireFields(given: Fields, names: readonly string[]): void {
  const unknown = Object.keys(given).find((name) => name !== "kind" && !names.includes(name));
  if (unknown !== undefined) {
    throw badRequest(`an action of this kind has only ${names.join(", ")}`);
  }
}

function limiterOf(given: Fields): { readonly limiter: string } {
  return { limiter: textOf(given, "limiter") };
}

function textOf(given: Fields, name: string): string {
  const text = given[name];
  if (typeof text === "string" && text !== "") return text;
  throw badRequest(`${name} must be a text that is not empty`);
}

function subjectOf({ subject }: Fields): SubjectOf {
  const isSubject =
    isPlainObject(subject) &&
    Object.keys(subject).length > 0 &&
    Object.values(subject).every((text) => typeof text === "string" && text !== "");
  if (isSubject) return subject as Record<string, string>;
  throw badRequest("subject must be a text for each dimension");
}

function perhapsSubject(given: Fields): { readonly subject?: SubjectOf } {
  return given["subject"] === undefined ? {} : { subject: subjectOf(given) };
}

function timeOf({ forMs }: Fields): number {
  if (
    Number.isSafeInteger(forMs) &&
    (forMs as number) >= 1_000 &&
    (forMs as number) <= LONGEST_MS
  ) {
    return forMs as number;
  }
  throw badRequest(`forMs must be whole milliseconds from 1000 to ${LONGEST_MS}`);
}

function timeOrEver(given: Fields): number | null {
  return given["forMs"] === null ? null : timeOf(given);
}
