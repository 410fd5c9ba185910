import { isPlainObject, MAX_DURATION_MS } from "@headgate/core/internal";
import type { Action, ActionName } from "../api.ts";
import { ACTIONS } from "../api.ts";
import { badRequest } from "../serve/http-error.ts";

const ORDERS: readonly unknown[] = ["open", "close", "reset"];

/** Whether a field is valid, and the rule for the error otherwise. */
type FieldRule = readonly [isValid: (value: unknown) => boolean, rule: string];

const TEXT: FieldRule = [isText, "must be a string that is not empty"];
const SUBJECT: FieldRule = [isSubject, "must be a text for each dimension"];
const DURATION: FieldRule = [
  isDuration,
  `must be whole milliseconds from 1000 to ${MAX_DURATION_MS}`,
];
const OPTIONAL_DURATION: FieldRule = [(value) => value === null || isDuration(value), DURATION[1]];

const ON_SUBJECT = { limiter: TEXT, subject: SUBJECT };
const OF_OVERRIDE = { limiter: TEXT, subject: optional(SUBJECT) };

/** The fields of each action in addition to its kind. The numbers of limits are checked later. */
const FIELDS: Readonly<Record<ActionName, Readonly<Record<string, FieldRule>>>> = {
  block: { ...ON_SUBJECT, forMs: DURATION },
  unblock: ON_SUBJECT,
  reset: ON_SUBJECT,
  forget: ON_SUBJECT,
  setOverride: {
    ...OF_OVERRIDE,
    limits: optional([isNumbersByLimit, "must be numbers by the name of a limit"]),
    shadow: optional([(value) => typeof value === "boolean", "must be true or false"]),
    forMs: OPTIONAL_DURATION,
  },
  unsetOverride: OF_OVERRIDE,
  addToDenyList: { network: TEXT, forMs: OPTIONAL_DURATION },
  removeFromDenyList: { network: TEXT },
  breaker: {
    breaker: TEXT,
    target: TEXT,
    order: [(value) => ORDERS.includes(value), `must be ${ORDERS.join(", ")}`],
  },
};

/** Parses an action, which may have only the fields of its kind. Throws an `HttpError`. */
export function parseAction(fields: unknown): Action {
  if (!isPlainObject(fields)) throw badRequest("action must be an object");
  const kind = ACTIONS.find((one) => one === fields["kind"]);
  if (kind === undefined) throw badRequest("there is no action of this kind");
  const rules = FIELDS[kind];
  const { kind: _, ...given } = fields;
  if (Object.keys(given).some((name) => !Object.hasOwn(rules, name))) {
    throw badRequest(`an action of this kind has only ${Object.keys(rules).join(", ")}`);
  }
  for (const [name, [isValid, rule]] of Object.entries(rules)) {
    if (!isValid(given[name])) throw badRequest(`${name} ${rule}`);
  }
  return { kind, ...given } as unknown as Action;
}

function optional([isValid, rule]: FieldRule): FieldRule {
  return [(value) => value === undefined || isValid(value), rule];
}

function isText(value: unknown): boolean {
  return typeof value === "string" && value !== "";
}

function isSubject(value: unknown): boolean {
  return (
    isPlainObject(value) && Object.keys(value).length > 0 && Object.values(value).every(isText)
  );
}

function isDuration(value: unknown): boolean {
  return (
    Number.isSafeInteger(value) &&
    (value as number) >= 1_000 &&
    (value as number) <= MAX_DURATION_MS
  );
}

/** Rejects deeper nesting, because an action is hashed recursively. */
function isNumbersByLimit(value: unknown): boolean {
  return (
    isPlainObject(value) &&
    Object.values(value).every(
      (fields) =>
        isPlainObject(fields) &&
        Object.values(fields).every((number) => typeof number === "number"),
    )
  );
}
