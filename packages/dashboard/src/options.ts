import type { Duration, Store } from "@headgate/core";
import { HeadgateError } from "@headgate/core";
import { formatReceived, rejectUnknownOptions } from "@headgate/core/internal";
import type { Permission } from "./access/visitor.ts";

/** Options of `dashboard`. */
export interface DashboardOptions<Request = never, Response = never> {
  /** The store whose limiters are shown, as returned by `redisStore`. */
  readonly store: Store;
  /**
   * Returns the visitor's permission. Called for each request except those for assets. It may respond itself, for example with a
   * redirect to a login, and then return false. If it throws, the response is 500 without details.
   */
  authorize(request: Request, response: Response): Permission | Promise<Permission>;
  /** The title of the page. Default `"Headgate"`. */
  readonly title?: string | undefined;
  /** The longest wait for each call to Redis: 1 ms to 1 minute. Default 2 seconds. */
  readonly storeTimeout?: Duration | undefined;
  /** Checks Redis, and returns its findings for display. Called at most every 30 seconds. */
  readonly doctor?: (() => Promise<DoctorReport>) | undefined;
  /** The URL of your runbook, to which the page links while Redis does not answer: `http://…` or `https://…`. */
  readonly runbook?: string | undefined;
  /** `createBreaker` of `@headgate/breaker`. Without it, breakers are shown but cannot be ordered open or closed. */
  readonly createBreaker?: ((options: never) => BreakerLike) | undefined;
  /** The `hashSecret` of the limiters' `byHeader` keys, to look up the value of a header. */
  readonly hashSecret?: string | undefined;
  /**
   * Signs the previews of actions. Processes behind one address need the same secret, so that one of them can perform an action
   * that another one has previewed. Default: random, for this handler alone.
   */
  readonly secret?: string | undefined;
  /** A copy of this package's folder `dist/page`, for an application that is bundled. Default: the folder itself. */
  readonly files?: string | undefined;
}

/** A doctor's report, as printed by `headgate doctor --json`. */
export interface DoctorReport {
  readonly checks: readonly {
    readonly docs?: string | undefined;
    readonly findings: readonly {
      readonly status: string;
      readonly message: string;
      readonly impact?: string | undefined;
      readonly fix?: string | undefined;
      readonly commands?: readonly string[] | undefined;
    }[];
  }[];
}

/** The part of a breaker that the dashboard uses to order its targets open or closed. */
export interface BreakerLike {
  for(target: string): BreakerTargetLike;
  close(): Promise<void>;
}

/** The part of a breaker's target that the dashboard uses. */
export interface BreakerTargetLike {
  /** The name of the target; the breaker shortens a long name. */
  readonly target: string;
  snapshot(): Promise<TargetSnapshot>;
  forceOpen(): Promise<void>;
  disable(): Promise<void>;
  reset(): Promise<void>;
}

/** The state of a target. */
export interface TargetSnapshot {
  /** `"closed"`, `"open"`, `"half-open"`, `"forced-open"`, `"disabled"` or `"metrics-only"`. */
  readonly state: string;
  /** The number of calls in the window. */
  readonly calls: number;
  /** The share of successes among them, 0 to 1; null without calls. */
  readonly successRate: number | null;
  /** Milliseconds until trial calls are let through; 0 if it is not open. */
  readonly retryAfterMs: number;
  /** True if the store could not answer: the snapshot is of this process only. */
  readonly degraded: boolean;
}

const FUNCTION_OPTIONS = ["doctor", "createBreaker"] as const;
const STRING_OPTIONS = ["title", "hashSecret", "secret", "files", "runbook"] as const;
const OPTION_NAMES = ["store", "authorize", "storeTimeout", ...FUNCTION_OPTIONS, ...STRING_OPTIONS];

/** Validates options; `adapterOptions` are the names of the adapter's own options. Throws `HEADGATE_INVALID_OPTION`. */
export function validateOptions<Options extends DashboardOptions>(
  options: Options,
  adapterOptions: readonly string[] = [],
): void {
  rejectUnknownOptions("dashboard", options, [...OPTION_NAMES, ...adapterOptions]);
  if (typeof options.authorize !== "function") {
    throw invalidOption(
      `authorize is required: a function that returns the visitor's permission. Without it, the dashboard would be open to anyone; got ${formatReceived(options.authorize)}`,
    );
  }
  for (const name of FUNCTION_OPTIONS) {
    const value: unknown = options[name];
    if (value === undefined || typeof value === "function") continue;
    throw invalidOption(`${name} must be a function, got ${formatReceived(value)}`);
  }
  for (const name of STRING_OPTIONS) {
    const value: unknown = options[name];
    if (value === undefined || (typeof value === "string" && value !== "")) continue;
    // The message leaves out the value, which may be a secret.
    throw invalidOption(`${name} must be a string that is not empty`);
  }
  const { runbook } = options;
  if (runbook !== undefined && !(/^https?:\/\//i.test(runbook) && URL.canParse(runbook))) {
    throw invalidOption(`runbook must be an http or https URL, got ${formatReceived(runbook)}`);
  }
}

function invalidOption(message: string): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `dashboard: ${message}`);
}
