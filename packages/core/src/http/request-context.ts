import type { Policy } from "../common/policy.ts";
import type { Awaitable } from "../common/type-guards.ts";
import type { CostOptions } from "../limiter/limiter.ts";
import type { LimiterInternals, LimiterWithInternals } from "../limiter/limiter-internals.ts";
import type { Verdict } from "./apply-verdict.ts";
import type { Client, HttpRequest } from "./client.ts";
import type { PolicyText } from "./headers.ts";
import type { LimiterCall, RecordedRequest } from "./request-record.ts";
import type { RequestSubjects } from "./subject.ts";

/** One request at one guard: created once, filled by the steps of the plan, and never copied. */
export interface RequestContext<Request> {
  readonly request: Request;
  /** The underlying HTTP request, which stores the decisions: `request` itself unless the framework wraps it. */
  readonly httpRequest: HttpRequest & RecordedRequest;
  /** Node's response, if the adapter passes it. */
  readonly response: object | undefined;
  /** The client as the framework sees it. */
  readonly frameworkClient: Client;
  /** The client to count, which may come from a trusted header. */
  client: Client;
  /** Whether the limiters were closed when the request arrived. */
  readonly isClosed: boolean;
  /** The limiter that decides this request. */
  prepared: PreparedLimiter<Request> | undefined;
  /** The limits of this request; undefined for the limiter's own. */
  limits: Policy | undefined;
  subjects: RequestSubjects | undefined;
  /** The cost; undefined for one unit. */
  costOptions: CostOptions | undefined;
  /** The limiter's call for this request, once it is recorded. */
  limiterCall: LimiterCall | undefined;
  /** When the limiter was called, by `performance.now()`; undefined if the channel of decisions has no subscribers. */
  startedAt: number | undefined;
  /** How long the request waited for the control record, in milliseconds. */
  controlWaitMs: number;
  /** Whether the request has waited for nothing since the control record was checked. */
  isControlFresh: boolean;
}

/** One step of a guard's plan. A verdict ends the plan. It may throw, or reject. */
export type GuardStep<Request> = (
  context: RequestContext<Request>,
) => Awaitable<Verdict | undefined>;

/** A limiter, and everything about it that does not depend on the request. */
export interface PreparedLimiter<Request> {
  readonly limiter: LimiterWithInternals;
  readonly internals: LimiterInternals;
  readonly readSubjects: GuardStep<Request>;
  readonly usesAddress: boolean;
  /** The prepared text of its own limits in responses. */
  readonly policyText: PolicyText;
  /** The same names, for the numbers of a request or of an override. */
  readonly namesOnly: PolicyText;
  /** Whether its limits include the options' own, not only those of the extended limiter. */
  readonly hasOwnLimits: boolean;
  /** The cost of every request, unless it comes from a function; undefined for one unit. */
  readonly costOptions: CostOptions | undefined;
}
