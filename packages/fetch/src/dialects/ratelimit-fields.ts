import type { Budget } from "./dialect.ts";
import { MAX_VALUE } from "./values.ts";

/** An item of a list, with its parameters: `"default";r=50;t=30`. */
interface Item {
  readonly name: string;
  readonly parameters: ReadonlyMap<string, string>;
}

/** The most budgets that are read. */
const MAX_ITEMS = 16;

/** A quoted text, a byte sequence or a token, up to the next separator. */
const TOKEN = /\s*("(?:[^"\\]|\\.){0,256}"|:[\w+/=]{0,256}:|[^\s",;=]{1,256})\s*/y;

/**
 * Reads a list of items with parameters, as far as the `RateLimit` fields use structured fields (RFC 9651). Also reads the
 * dictionary of draft 7: `limit=100, remaining=50, reset=30`. Undefined for everything else.
 */
function parseItems(text: string): readonly Item[] | undefined {
  if (text.length > MAX_VALUE) return undefined;
  const items: Item[] = [];
  let at = 0;
  const take = (): string | undefined => {
    TOKEN.lastIndex = at;
    const [found, token] = TOKEN.exec(text) ?? [];
    if (found === undefined) return undefined;
    at += found.length;
    return token?.startsWith('"') ? token.slice(1, -1).replaceAll(/\\(.)/g, "$1") : token;
  };
  const skip = (separator: string): boolean => {
    if (text[at] !== separator) return false;
    at += 1;
    return true;
  };
  do {
    const name = take();
    if (name === undefined) return undefined;
    const parameters = new Map<string, string>();
    if (skip("=")) {
      const value = take();
      if (value === undefined) return undefined;
      parameters.set("", value);
    }
    while (skip(";")) {
      const parameter = take();
      const value = skip("=") ? take() : "";
      if (parameter === undefined || value === undefined) return undefined;
      parameters.set(parameter.toLowerCase(), value);
    }
    items.push({ name, parameters });
  } while (items.length < MAX_ITEMS && skip(","));
  return at < text.length ? undefined : items;
}

/** A whole number of a structured field: at most 15 digits. */
function integer(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined;
}

/**
 * The budgets in the fields `RateLimit` and `RateLimit-Policy` of draft-ietf-httpapi-ratelimit-headers, draft 7 and later. `policy`
 * adds the quota, the window and the unit. Undefined if `limits` cannot be read.
 */
export function parseRateLimitFields(
  limits: string,
  policy: string | undefined,
): readonly Budget[] | undefined {
  const items = parseItems(limits);
  if (items === undefined) return undefined;
  const dictionary = new Map(
    items.map(({ name, parameters }) => [name.toLowerCase(), parameters.get("")]),
  );
  if (dictionary.get("remaining") !== undefined) return budgetOfDictionary(dictionary);
  const policies = new Map(
    (policy === undefined ? undefined : parseItems(policy))?.map((item) => [item.name, item]),
  );
  const budgets: Budget[] = [];
  for (const { name, parameters } of items) {
    const remaining = integer(parameters.get("r"));
    if (remaining === undefined) return undefined;
    const known = policies.get(name)?.parameters;
    const reset = integer(parameters.get("t"));
    const window = integer(known?.get("w"));
    budgets.push({
      unit: known?.get("qu") ?? "requests",
      bucket: items.length > 1 ? name : undefined,
      limit: integer(known?.get("q")),
      remaining,
      resetMs: reset === undefined ? undefined : reset * 1_000,
      windowMs: window === undefined ? undefined : window * 1_000,
    });
  }
  return budgets;
}

/** Draft 7: one budget, in the members `limit`, `remaining` and `reset`. */
function budgetOfDictionary(
  members: ReadonlyMap<string, string | undefined>,
): readonly Budget[] | undefined {
  const remaining = integer(members.get("remaining"));
  if (remaining === undefined) return undefined;
  const reset = integer(members.get("reset"));
  return [
    {
      unit: "requests",
      bucket: undefined,
      limit: integer(members.get("limit")),
      remaining,
      resetMs: reset === undefined ? undefined : reset * 1_000,
      windowMs: undefined,
    },
  ];
}
