import { isPlainObject } from "@headgate/core/internal";
import type { Action, SubjectByDimension } from "../api.ts";
import { badRequest } from "../serve/http-error.ts";

/** 366 days, the longest duration. */
const MAX_DURATION_MS = 31_622_400_000;

const SUBJECT_ACTIONS = ["unblock", "reset", "forget"] as const;
const ORDERS = ["open", "close", "reset"] as const;

type Fields = Readonly<Record<string, unknown>>;

/** Parses an action, which may have only the fields of its kind. Throws an `HttpError`. The numbers of limits are checked later. */
export function parseAction(fields: unknown): Action {
  if (!isPlainObject(fields)) throw badRequest("action must be an object");
  const { kind } = fields;
  switch (kind) {
    case "block":
      requireFields(fields, ["limiter", "subject", "forMs"]);
      return {
        kind,
        ...parseLimiter(fields),
        subject: parseSubject(fields),
        forMs: parseForMs(fields),
      };
    case "setOverride":
      return parseOverride(fields);
    case "unsetOverride":
      requireFields(fields, ["limiter", "subject"]);
      return { kind, ...parseLimiter(fields), ...parseOptionalSubject(fields) };
    case "addToDenyList":
      requireFields(fields, ["network", "forMs"]);
      return { kind, network: parseText(fields, "network"), forMs: parseOptionalForMs(fields) };
    case "removeFromDenyList":
      requireFields(fields, ["network"]);
      return { kind, network: parseText(fields, "network") };
    case "breaker":
      return parseBreakerAction(fields);
    default: {
      const known = SUBJECT_ACTIONS.find((one) => one === kind);
      if (known === undefined) throw badRequest("there is no action of this kind");
      requireFields(fields, ["limiter", "subject"]);
      return { kind: known, ...parseLimiter(fields), subject: parseSubject(fields) };
    }
  }
}

function parseOverride(fields: Fields): Action {
  requireFields(fields, ["limiter", "subject", "limits", "shadow", "forMs"]);
  const { limits, shadow } = fields;
  if (limits !== undefined && !isNumbersByLimit(limits)) {
    throw badRequest("limits must be numbers by the name of a limit");
  }
  if (shadow !== undefined && typeof shadow !== "boolean") {
    throw badRequest("shadow must be true or false");
  }
  return {
    kind: "setOverride",
    ...parseLimiter(fields),
    ...parseOptionalSubject(fields),
    ...(limits === undefined ? {} : { limits }),
    ...(shadow === undefined ? {} : { shadow }),
    forMs: parseOptionalForMs(fields),
  };
}

/** Rejects deeper nesting, because an action is hashed recursively. */
function isNumbersByLimit(
  limits: unknown,
): limits is Readonly<Record<string, Readonly<Record<string, number>>>> {
  if (!isPlainObject(limits)) return false;
  return Object.values(limits).every(
    (fields) =>
      isPlainObject(fields) && Object.values(fields).every((number) => typeof number === "number"),
  );
}

function parseBreakerAction(fields: Fields): Action {
  requireFields(fields, ["breaker", "target", "order"]);
  const order = ORDERS.find((one) => one === fields["order"]);
  if (order === undefined) throw badRequest(`order must be ${ORDERS.join(", ")}`);
  const [breaker, target] = [parseText(fields, "breaker"), parseText(fields, "target")];
  return { kind: "breaker", breaker, target, order };
}

function requireFields(fields: Fields, names: readonly string[]): void {
  const unknown = Object.keys(fields).find((name) => name !== "kind" && !names.includes(name));
  if (unknown !== undefined) {
    throw badRequest(`an action of this kind has only ${names.join(", ")}`);
  }
}

function parseLimiter(fields: Fields): { readonly limiter: string } {
  return { limiter: parseText(fields, "limiter") };
}

function parseText(fields: Fields, name: string): string {
  const text = fields[name];
  if (typeof text === "string" && text !== "") return text;
  throw badRequest(`${name} must be a string that is not empty`);
}

function parseSubject({ subject }: Fields): SubjectByDimension {
  const isSubject =
    isPlainObject(subject) &&
    Object.keys(subject).length > 0 &&
    Object.values(subject).every((text) => typeof text === "string" && text !== "");
  if (isSubject) return subject as Record<string, string>;
  throw badRequest("subject must be a text for each dimension");
}

function parseOptionalSubject(fields: Fields): { readonly subject?: SubjectByDimension } {
  return fields["subject"] === undefined ? {} : { subject: parseSubject(fields) };
}

function parseForMs({ forMs }: Fields): number {
  if (
    Number.isSafeInteger(forMs) &&
    (forMs as number) >= 1_000 &&
    (forMs as number) <= MAX_DURATION_MS
  ) {
    return forMs as number;
  }
  throw badRequest(`forMs must be whole milliseconds from 1000 to ${MAX_DURATION_MS}`);
}

function parseOptionalForMs(fields: Fields): number | null {
  return fields["forMs"] === null ? null : parseForMs(fields);
}
