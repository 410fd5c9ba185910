import { userInfo } from "node:os";
import { hintForLargeCount, MAX_COUNT } from "../algorithms/read-limit.ts";
import { formatKind, formatReceived, invalidOption, invalidValue } from "../common/errors.ts";
import { readBoolean, rejectUnknownOptions } from "../common/options.ts";
import { parseDuration } from "../common/time.ts";
import { isPlainObject } from "../common/type-guards.ts";
import type { DeniedNetwork } from "../control/record.ts";
import { isActive } from "../control/record.ts";
import { LIMIT_OVERRIDE_FIELDS } from "../control/record-text.ts";
import { createNetworkTest, normaliseNetwork, parseNetwork, positionOf } from "../net/network.ts";
import { requireName } from "../policy/names.ts";
import { withTimeout } from "../store/with-timeout.ts";
import type { ActionOptions, BreakerAction, NewOverride, OverrideKey } from "./admin.ts";

/** Longer subjects would make the record large, and every process reads it. */
const MAX_SUBJECT_CHARACTERS = 1_000;

/** Checks the reason and the operator's name. Throws `HEADGATE_INVALID_OPTION`. */
export function readActionOptions(
  owner: string,
  options: ActionOptions,
  more: readonly string[] = [],
): ActionOptions {
  rejectUnknownOptions(owner, options, ["reason", "by", "dryRun", ...more]);
  const { reason, by } = options;
  requireText("reason", reason, 1_000);
  requireText("by", by, 256);
  return { reason, by, dryRun: readBoolean("dryRun", options.dryRun) };
}

function requireText(option: string, text: unknown, most: number): void {
  if (text === undefined || (typeof text === "string" && text.length <= most)) return;
  throw invalidValue(`${option} must be a string of at most ${most} characters`, text, formatKind);
}

/** Throws `HEADGATE_INVALID_OPTION` for a subject that is too long for the record. */
export function requireShortSubject(subject: Readonly<Record<string, string>>): void {
  const long = Object.values(subject).find((text) => text.length > MAX_SUBJECT_CHARACTERS);
  if (long === undefined) return;
  throw invalidOption(
    `a subject must have at most ${MAX_SUBJECT_CHARACTERS} characters, got ${long.length}`,
  );
}

/** Checks the log entry of a breaker. Throws `HEADGATE_INVALID_OPTION`. */
export function readBreakerAction(action: BreakerAction): BreakerAction {
  rejectUnknownOptions("logBreakerAction", action, ["breaker", "target", "before", "after"]);
  const { breaker, target } = action;
  requireName(breaker);
  if (typeof target !== "string" || target === "") {
    throw invalidValue("target must be the name of a target", target);
  }
  requireShortSubject({ target });
  return action;
}

/** The most characters as JSON: every process reads it. */
const MAX_OVERRIDE_CHARACTERS = 4_096;

/** How many microseconds an override lasts; undefined for ever. Throws `HEADGATE_INVALID_OPTION`. */
export function readDuration(duration: unknown = "1d"): number | undefined {
  if (duration === "forever") return undefined;
  return parseDuration(duration, 'for, unless it is "forever",', "HEADGATE_INVALID_OPTION");
}

/** Checks the limiter and the subject of an override. Throws `HEADGATE_INVALID_OPTION`. */
export function readOverrideKey({ limiter, subject }: OverrideKey): OverrideKey {
  if (typeof limiter !== "string" || limiter === "" || limiter.length > 512) {
    throw invalidValue("limiter must be the name of a limiter", limiter);
  }
  if (subject === undefined) return { limiter };
  const isRecord =
    isPlainObject(subject) &&
    Object.keys(subject).length > 0 &&
    Object.values(subject).every((text) => typeof text === "string" && text !== "");
  if (!isRecord) {
    throw invalidOption(
      `subject must be a string for each dimension, as in { default: "..." }; got ${formatKind(subject)}`,
    );
  }
  requireShortSubject(subject);
  return { limiter, subject };
}

/** Checks an override, as far as possible without the limiter's policy. Throws `HEADGATE_INVALID_OPTION`. */
export function readOverride(override: NewOverride): NewOverride {
  rejectUnknownOptions("setOverride", override, ["limiter", "subject", "limits", "shadow"]);
  const { limits, shadow } = override;
  if (limits === undefined && shadow === undefined) {
    throw invalidOption("an override has limits, shadow, or both");
  }
  readBoolean("shadow", shadow);
  if (limits !== undefined) requireLimitOverrides(limits);
  const read = { ...readOverrideKey(override), limits, shadow };
  const { length } = JSON.stringify(read);
  if (length <= MAX_OVERRIDE_CHARACTERS) return read;
  throw invalidOption(
    `an override must have at most ${MAX_OVERRIDE_CHARACTERS} characters as JSON, got ${length}`,
  );
}

function requireLimitOverrides(limits: unknown): void {
  if (!isPlainObject(limits) || Object.keys(limits).length === 0) {
    throw invalidOption(
      `limits must be numbers by the name of a limit, as in { "100-per-1m": { limit: 50 } }; got ${formatReceived(limits)}`,
    );
  }
  for (const [name, numbers] of Object.entries(limits)) {
    rejectUnknownOptions(`limits ${formatReceived(name)}`, numbers, LIMIT_OVERRIDE_FIELDS);
    const given = Object.entries(numbers as object).filter(([, number]) => number !== undefined);
    if (given.length === 0) {
      throw invalidOption(`limits ${formatReceived(name)}: no number is given`);
    }
    for (const [what, number] of given) {
      const least = what === "limit" || what === "capacity" ? 0 : 1;
      if (Number.isSafeInteger(number) && number >= least && number <= MAX_COUNT) continue;
      throw invalidOption(
        `limits ${formatReceived(name)}: ${what} must be a whole number from ${least} to ${MAX_COUNT}, got ${formatReceived(number)}${hintForLargeCount(number, MAX_COUNT)}`,
      );
    }
  }
}

/** The shortest prefixes: a wider network is a large part of the internet, and rejected as a mistake. */
const MIN_PREFIX = { 4: 8, 6: 16 } as const;

/** The longest reason, in characters: every process reads it. */
const MAX_REASON_CHARACTERS = 200;

/** Checks an address or network, and returns its canonical form. Throws `HEADGATE_INVALID_OPTION`. */
export function readNetworkOption(text: string): string {
  const read = normaliseNetwork(text);
  if (read === undefined) {
    throw invalidValue(
      'network must be an address or a network, like "203.0.113.7" or "2001:db8::/32"',
      text,
    );
  }
  const { network, version, prefix } = read;
  if (prefix >= MIN_PREFIX[version]) return network;
  throw invalidValue(
    `network must have a prefix of at least ${MIN_PREFIX[version]} for IPv${version}`,
    text,
  );
}

/** Throws `HEADGATE_INVALID_OPTION` for a reason that is too long for the record. */
export function requireShortReason(reason: string | undefined): void {
  if (reason === undefined || reason.length <= MAX_REASON_CHARACTERS) return;
  throw invalidOption(
    `reason must have at most ${MAX_REASON_CHARACTERS} characters on the deny list, which all processes read, got ${reason.length}`,
  );
}

/** The entries in force at a time in microseconds; with an address, those that contain it. Throws `HEADGATE_INVALID_OPTION`. */
export function activeEntries(
  denied: readonly DeniedNetwork[],
  now: number,
  address: string | undefined,
): readonly DeniedNetwork[] {
  const active = denied.filter((one) => isActive(one, now));
  if (address === undefined) return active;
  if (positionOf(address) === undefined) {
    throw invalidValue("address must be an IP address", address);
  }
  return active.filter(({ network }) => {
    const read = parseNetwork(network);
    return read !== undefined && createNetworkTest([read])(address);
  });
}

/** The system's name for the user of this process; undefined if it has none, as in some containers. */
export function systemUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

/** Methods that some clients have for other commands. */
interface AclClient {
  /** ioredis and iovalkey. */
  call?(...command: readonly string[]): Promise<unknown>;
  /** node-redis. */
  aclWhoAmI?(): Promise<unknown>;
  /** Valkey GLIDE. */
  customCommand?(command: readonly string[]): Promise<unknown>;
}

/** The user that a client is connected as; undefined without the permission for ACL WHOAMI, or without a reply in time. */
export async function aclUserOf(client: object, withinMs: number): Promise<string | undefined> {
  try {
    const user = await withTimeout(withinMs, readUser(client), () => undefined);
    return user === undefined ? undefined : String(user);
  } catch {
    return undefined;
  }
}

async function readUser(client: AclClient): Promise<unknown> {
  if (typeof client.call === "function") return client.call("ACL", "WHOAMI");
  if (typeof client.aclWhoAmI === "function") return client.aclWhoAmI();
  return typeof client.customCommand === "function"
    ? client.customCommand(["ACL", "WHOAMI"])
    : undefined;
}
