import { isPlainObject, MAX_DURATION_MS } from "@headgate/core/internal";
import type { Action, ActionName, SubjectByDimension } from "../api.ts";
import { ACTIONS } from "../api.ts";
import { badRequest } from "../serve/http-error.ts";

const ORDERS = ["open", "close", "reset"] as const;

/** The fields of each action in addition to its kind. */
const FIELDS: Readonly<Record<ActionName, readonly string[]>> = {
  block: ["limiter", "subject", "forMs"],
  unblock: ["limiter", "subject"],
  reset: ["limiter", "subject"],
  forget: ["limiter", "subject"],
  setOverride: ["limiter", "subject", "limits", "shadow", "forMs"],
  unsetOverride: ["limiter", "subject"],
  addToDenyList: ["network", "forMs"],
  removeFromDenyList: ["network"],
  breaker: ["breaker", "target", "order"],
};

type Fields = Readonly<Record<string, unknown>>;

/** Parses an action, which may have only the fields of its kind. Throws an `HttpError`. The numbers of limits are checked later. */
export function parseAction(fields: unknown): Action {
  if (!isPlainObject(fields)) throw badRequest("action must be an object");
  const kind = ACTIONS.find((one) => one === fields["kind"]);
  if (kind === undefined) throw badRequest("there is no action of this kind");
  const names = FIELDS[kind];
  if (Object.keys(fields).some((name) => name !== "kind" && !names.includes(name))) {
    throw badRequest(`an action of this kind has only ${names.join(", ")}`);
  }
  switch (kind) {
    case "block": {
      const forMs = parseForMs(fields);
      return { kind, limiter: parseText(fields, "limiter"), subject: parseSubject(fields), forMs };
    }
    case "unblock":
    case "reset":
    case "forget":
      return { kind, limiter: parseText(fields, "limiter"), subject: parseSubject(fields) };
    case "setOverride":
      return { kind, ...parseOverrideKey(fields), ...parseOverride(fields) };
    case "unsetOverride":
      return { kind, ...parseOverrideKey(fields) };
    case "addToDenyList":
      return { kind, network: parseText(fields, "network"), forMs: parseOptionalForMs(fields) };
    case "removeFromDenyList":
      return { kind, network: parseText(fields, "network") };
    case "breaker": {
      const order = ORDERS.find((one) => one === fields["order"]);
      if (order === undefined) throw badRequest(`order must be ${ORDERS.join(", ")}`);
      const [breaker, target] = [parseText(fields, "breaker"), parseText(fields, "target")];
      return { kind, breaker, target, order };
    }
  }
}

type OverrideAction = Extract<Action, { kind: "setOverride" }>;

function parseOverrideKey(fields: Fields): Pick<OverrideAction, "limiter" | "subject"> {
  const limiter = parseText(fields, "limiter");
  return fields["subject"] === undefined ? { limiter } : { limiter, subject: parseSubject(fields) };
}

function parseOverride(fields: Fields): Pick<OverrideAction, "limits" | "shadow" | "forMs"> {
  const { limits, shadow } = fields;
  if (limits !== undefined && !isNumbersByLimit(limits)) {
    throw badRequest("limits must be numbers by the name of a limit");
  }
  if (shadow !== undefined && typeof shadow !== "boolean") {
    throw badRequest("shadow must be true or false");
  }
  return {
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

function parseForMs({ forMs }: Fields): number {
  const isDuration =
    typeof forMs === "number" &&
    Number.isSafeInteger(forMs) &&
    forMs >= 1_000 &&
    forMs <= MAX_DURATION_MS;
  if (isDuration) return forMs;
  throw badRequest(`forMs must be whole milliseconds from 1000 to ${MAX_DURATION_MS}`);
}

function parseOptionalForMs(fields: Fields): number | null {
  return fields["forMs"] === null ? null : parseForMs(fields);
}
