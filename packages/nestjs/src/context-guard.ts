import type {
  GuardOptions,
  KeyFunction,
  RequestDecision,
  Verdict,
  Warn,
} from "@headgate/core/http";
import { HeadgateDeniedError } from "@headgate/core/http";
import type { AdapterGuard, InternalParts } from "@headgate/core/internal-http";
import {
  createAdapterGuard,
  unwrapRequest,
  warnOnce,
  withErrors,
} from "@headgate/core/internal-http";
import type { ExecutionContext } from "@nestjs/common";
import { LateKeyCheck } from "./late-key-check.ts";
import type { LimitedContext, NestRequest } from "./limited-context.ts";
import { readContext, requestOf, routeOf, serverOf } from "./limited-context.ts";
import type { OnDenied } from "./on-denied.ts";
import { callOnDenied } from "./on-denied.ts";
import { exceptionFor } from "./rate-limit-exception.ts";
import { nodeOf, setDenialHeaders, setReplyHeaders } from "./reply.ts";

/** The name of the module in error messages. */
export const OWNER = "HeadgateModule";

const ADAPTER = {
  name: "nestjs",
  warn,
  routeOf,
  callsOnDenied: true,
  passesResponse: true,
} as const;

/** For a request that has a response or needs none: Nest itself would respond if its guard returned false. */
function neverResolve(): Promise<boolean> {
  return new Promise(() => {});
}

/** Decides about requests, fields and messages under one set of options. */
export interface ContextGuard
  extends Pick<
    AdapterGuard<NestRequest>,
    "limiter" | "tiers" | "decisionOf" | "resetClient" | "ready" | "close"
  > {
  /** Resolves with whether the request continues. Rejects with the error for the exception filters. */
  decide(context: ExecutionContext): Promise<boolean>;
}

/** Throws `HEADGATE_INVALID_OPTION`, `HEADGATE_INVALID_LIMIT`, `HEADGATE_DUPLICATE_NAME`. */
export function createContextGuard(
  owner: string,
  options: GuardOptions<NestRequest>,
  parts: InternalParts<NestRequest>,
): ContextGuard {
  const guard = createAdapterGuard<NestRequest>(owner, options, ADAPTER, {
    ...parts,
    unwrapRequest,
  });
  const onDenied = options.onDenied ?? parts.inherited?.onDenied;
  const key = options.key ?? parts.inherited?.key;
  const lateKeyCheck =
    key &&
    new LateKeyCheck(key as KeyFunction<NestRequest>, (context) =>
      warn("HEADGATE_KEY_TOO_EARLY", lateKeyWarning(owner), context),
    );

  async function decide(context: ExecutionContext): Promise<boolean> {
    const limited = readContext(context);
    const { client, response } = limited;
    const verdict = await withErrors(() => guard.check(context as NestRequest, client, response));
    if (verdict.kind === "pass") return true;
    // Something else may have responded meanwhile, for example on a timeout.
    if (verdict.kind === "disconnected" || isAnswered(limited)) return neverResolve();
    return respond(context, limited, verdict);
  }

  async function respond(
    context: ExecutionContext,
    limited: LimitedContext,
    verdict: Exclude<Verdict, { readonly kind: "pass" | "disconnected" }>,
  ): Promise<boolean> {
    const { reply, request, response } = limited;
    if (verdict.kind !== "refused") request.rateLimit = verdict.decision;
    if (verdict.kind === "denied" && typeof onDenied === "function") {
      const outcome = await callOnDenied(onDenied as OnDenied, context, limited, verdict, warn);
      if (outcome === "answered") return neverResolve();
      if (outcome === "allowed") return true;
    } else if (reply !== undefined) {
      const set = verdict.kind === "allowed" ? setReplyHeaders : setDenialHeaders;
      set(reply, verdict.headers);
    }
    if (verdict.kind === "allowed") {
      if (response !== undefined && lateKeyCheck?.isActive === true) {
        const decision = decisionOf(context);
        if (decision !== undefined)
          lateKeyCheck.observe(context as NestRequest, response, decision);
      }
      return true;
    }
    if (verdict.kind === "denied" && onDenied === "error") {
      throw new HeadgateDeniedError(verdict.decision);
    }
    throw await exceptionFor(context, verdict);
  }

  function decisionOf(target: object): RequestDecision | undefined {
    return guard.decisionOf(requestOf(target));
  }

  return {
    ...guard,
    decide,
    decisionOf,
    resetClient: (target) => guard.resetClient(requestOf(target)),
  };
}

function lateKeyWarning(owner: string): string {
  const fix =
    owner === OWNER
      ? "import HeadgateModule after the module whose APP_GUARD authenticates, or name HeadgateGuard after the guard, as in @UseGuards(AuthGuard, HeadgateGuard)"
      : "put @RateLimit above @UseGuards(AuthGuard), or authenticate in an APP_GUARD";
  return `${owner}: key returns nothing in time, so addresses are counted, but a key when requests have ended: the guard that authenticates runs after this limit; ${fix}`;
}

function isAnswered({ reply }: LimitedContext): boolean {
  if (reply === undefined) return false;
  const { headersSent, writableEnded } = nodeOf(reply);
  return headersSent || writableEnded;
}

/** Warns each code once for a server, or for the process if the server is unknown. */
function warn(...[code, message, context, error]: Parameters<Warn>): void {
  warnOnce(serverOf(context) ?? process, code, message, error);
}
