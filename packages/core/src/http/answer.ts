import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { Decision, LimitState } from "../base/decision.ts";
import type { LimitDescription } from "../base/policy.ts";
import {
  BLOCKED_PROBLEM,
  formatProblem,
  missingKeyProblem,
  PROBLEM_JSON,
  statusOf,
} from "./problem.ts";
import type { Reported } from "./request-record.ts";
import { bindingDecision } from "./request-record.ts";
import type { Header, PolicyText, Rejection, Verdict } from "./verdict.ts";

export function writePolicy(limits: readonly CompiledLimit[]): PolicyText {
  const names = limits.map(({ name }) => quoteName(name));
  const isFixed = limits.every(({ calendar }) => calendar === undefined);
  return { policy: isFixed ? formatPolicyHeader(limits, names) : undefined, names };
}

/** RFC 6585 §4: an answer with status 429 must not be stored by a cache; nor is one with status 503 worth keeping. */
const NO_STORE: Header = ["Cache-Control", "no-store"];

/** Removes the headers of a limiter that had room, when one without headers of its own denies. */
const NO_LEGACY: readonly Header[] = [
  ["X-RateLimit-Limit", undefined],
  ["X-RateLimit-Remaining", undefined],
  ["X-RateLimit-Reset", undefined],
];

/**
 * The answer to a request by all decisions on it so far. `nowMs` is the wall clock; `waitedMs` is how long the request
 * waited for the last decision, if that is reported.
 */
export function answerTo(reported: readonly Reported[], nowMs: number, waitedMs?: number): Verdict {
  const binding = reported.length === 1 ? (reported[0] as Reported) : bindingAmong(reported);
  const { decision } = binding;
  const headers: Header[] = [];
  addLegacy(headers, reported, binding, nowMs);
  addStandard(headers, reported);
  if (waitedMs !== undefined) {
    // `Server-Timing` (W3C), in milliseconds.
    headers.push(["Server-Timing", `headgate;dur=${waitedMs.toFixed(1)}`, "added"]);
  }
  if (decision.allowed || binding.passed === true) return { kind: "allowed", decision, headers };
  const retryAfter = formatRetryAfter(decision);
  if (retryAfter !== undefined) headers.push(["Retry-After", retryAfter]);
  headers.push(NO_STORE);
  const body = formatProblem(decision, binding.text?.names);
  const rejection = { status: statusOf(decision), contentType: PROBLEM_JSON, body };
  return { kind: "denied", decision, headers, rejection };
}

function bindingAmong(reported: readonly Reported[]): Reported {
  const denial = reported.find(({ decision, passed }) => !decision.allowed && passed !== true);
  if (denial !== undefined) return denial;
  const binding = bindingDecision(reported.map(({ decision }) => decision));
  return reported.find(({ decision }) => decision === binding) as Reported;
}

function addLegacy(
  headers: Header[],
  reported: readonly Reported[],
  binding: Reported,
  nowMs: number,
): void {
  let shown = binding;
  if (reported.length > 1) {
    const all = reported.filter(showsNumbers);
    if (all.length === 0) return;
    if (!binding.decision.allowed && !all.includes(binding)) {
      headers.push(...NO_LEGACY);
      return;
    }
    shown = bindingAmong(all);
  } else if (!showsNumbers(binding)) return;
  headers.push(...formatLegacy(shown.decision, shown.headers.legacyReset ?? "delta", nowMs));
}

/** A decision without counting has nothing to report. */
function showsNumbers({ decision, headers }: Reported): boolean {
  return headers.legacy === true && decision.limits.length > 0;
}

function addStandard(headers: Header[], reported: readonly Reported[]): void {
  let policy = "";
  let remaining = "";
  for (const { decision, headers: options, text } of reported) {
    if (!options.standard || decision.limits.length === 0) continue;
    const separator = policy === "" ? "" : ", ";
    policy += separator + (text?.policy ?? formatPolicyHeader(decision.limits, text?.names));
    remaining += separator + formatRemaining(decision.limits, text?.names);
  }
  if (policy !== "") headers.push(["RateLimit-Policy", policy], ["RateLimit", remaining]);
}

/** The answer to a request that lacks the key of a dimension. */
export function refuseMissing(dimension: string): Verdict {
  const body = JSON.stringify(missingKeyProblem(dimension));
  const rejection = { status: 400, contentType: PROBLEM_JSON, body };
  return { kind: "refused", headers: [NO_STORE], rejection };
}

/** The answer to a request of a blocked client, without the headers that limiters before this one set. */
export const BLOCKED: Verdict = {
  kind: "refused",
  headers: [...NO_LEGACY, ["RateLimit-Policy", undefined], ["RateLimit", undefined], NO_STORE],
  rejection: {
    status: BLOCKED_PROBLEM.status,
    contentType: PROBLEM_JSON,
    body: JSON.stringify(BLOCKED_PROBLEM),
  },
};

/** The binding limit's numbers under their oldest names, `X-RateLimit-*`. `nowMs` is the wall clock. */
export function formatLegacy(
  { limit, remaining, resetAfterMs }: Decision,
  legacyReset: "delta" | "epoch",
  nowMs: number,
): Header[] {
  const reset = toSeconds(legacyReset === "delta" ? resetAfterMs : nowMs + resetAfterMs);
  return [
    ["X-RateLimit-Limit", String(limit)],
    ["X-RateLimit-Remaining", String(remaining)],
    ["X-RateLimit-Reset", String(reset)],
  ];
}

/**
 * `RateLimit-Policy`: every limit's quota and window (left out below a second), as an RFC 9651 list. `names` are the
 * limits', quoted.
 */
export function formatPolicyHeader(
  limits: readonly LimitDescription[],
  names: readonly string[] = limits.map(({ name }) => quoteName(name)),
): string {
  const items = limits.map(({ limit, windowMs }, i) => {
    const window = windowMs >= 1_000 ? `;w=${toSeconds(windowMs)}` : "";
    return `${names[i]};q=${limit}${window}`;
  });
  return items.join(", ");
}

/** `RateLimit`: each limit's remaining units and, if known, the seconds until there are more, as an RFC 9651 list. */
export function formatRemaining(
  limits: readonly LimitState[],
  names: readonly string[] = limits.map(({ name }) => quoteName(name)),
): string {
  let list = "";
  for (let i = 0; i < limits.length; i += 1) {
    const limit = limits[i] as LimitState;
    // A limit of slots has no window.
    const time = limit.windowMs === 0 ? "" : `;t=${toSeconds(limit.growsAfterMs)}`;
    const item = `${names[i]};r=${limit.remaining}${time}`;
    list = i === 0 ? item : `${list}, ${item}`;
  }
  return list;
}

/** `Retry-After` in whole seconds (RFC 9110 §10.2.3), rounded up; undefined if waiting does not help. */
export function formatRetryAfter({ retryAfterMs }: Decision): string | undefined {
  return Number.isFinite(retryAfterMs) ? String(toSeconds(retryAfterMs)) : undefined;
}

function toSeconds(milliseconds: number): number {
  return Math.ceil(milliseconds / 1_000);
}

/** A limit's name, which is printable ASCII, as a string of RFC 9651 §4.1.6; JSON writes it alike. */
export function quoteName(name: string): string {
  return JSON.stringify(name);
}

/** The members of Node's response, which is also that of Express and Koa (`ctx.res`), that Headgate uses. */
interface Answer {
  statusCode: number;
  getHeader(name: string): unknown;
  setHeader(name: string, value: string): unknown;
  removeHeader(name: string): unknown;
  end(body: string): unknown;
}

/** A header's value on an answer that has `before` by its name. */
export function valueBehind([, value, added]: Header, before: unknown): string | undefined {
  return added === undefined || before === undefined ? value : `${before}, ${value}`;
}

/** Sets headers on Node's response, or removes them. */
export function setHeaders(
  response: Pick<Answer, "getHeader" | "setHeader" | "removeHeader">,
  headers: readonly Header[],
): void {
  for (const header of headers) {
    const [name, plain, added] = header;
    const value = added === undefined ? plain : valueBehind(header, response.getHeader(name));
    if (value === undefined) response.removeHeader(name);
    else response.setHeader(name, value);
  }
}

/** Answers a request that does not go on, on Node's response. */
export function sendRejection(
  response: Pick<Answer, "statusCode" | "setHeader" | "end">,
  { status, contentType, body }: Rejection,
): void {
  response.statusCode = status;
  response.setHeader("Content-Type", contentType);
  response.end(body);
}
