import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from "node:http";
import { gcra } from "@headgate/core";
import type { Client, GuardOptions, HttpAdapter, HttpGuard, Verdict } from "@headgate/core/http";
import {
  byHeader,
  byIp,
  byTier,
  clientOf,
  combineKeys,
  createHttpGuard,
  sendRejection,
  setHeaders,
} from "@headgate/core/http";

const limits = gcra({ limit: 10, window: "1m" });

/** The request of some framework. */
interface Context {
  readonly headers: IncomingHttpHeaders;
  readonly user: { readonly name: string; readonly plan: "free" | "paid" };
}

export const guard: HttpGuard<Context> = createHttpGuard<Context>("limit", {
  limits,
  key: ({ user }, address) => `${user.name} at ${address?.trim()}`,
  skip: ({ user }) => user.plan === "paid",
});
createHttpGuard<Context>("limit", {
  limits: byTier({ free: limits, paid: null }, ({ user }: Context) => user.plan),
  key: combineKeys<Context>(byIp(), byHeader("x-api-key"), ({ user }) => user.name),
});
// @ts-expect-error a misspelt option
createHttpGuard<Context>("limit", { limits, kye: byIp() });
createHttpGuard<Context>("limit", { limits, headers: { legacy: "ratelimit", reset: "epoch-ms" } });
createHttpGuard<Context>("limit", {
  limits,
  headers: { legacy: "x-ratelimit", retryAfter: false },
});
// @ts-expect-error a draft is not a style
createHttpGuard<Context>("limit", { limits, headers: { legacy: "draft-6" } });
// @ts-expect-error a unit that does not exist
createHttpGuard<Context>("limit", { limits, headers: { reset: "ms" } });
// @ts-expect-error Retry-After is sent or not
createHttpGuard<Context>("limit", { limits, headers: { retryAfter: "1" } });
// @ts-expect-error the request has no such member
createHttpGuard<Context>("limit", { limits, key: ({ usr }) => usr });
// @ts-expect-error a request without headers
createHttpGuard<{ readonly user: string }>("limit", { limits });
// @ts-expect-error a misspelt name for the adapter
createHttpGuard<Context>("limit", { limits }, { routesOf: () => "GET /" });

// @ts-expect-error it is true or false
createHttpGuard<Context>("limit", { limits }, { count: "failed" });

export const adapter: HttpAdapter<Context> = {
  routeOf: ({ user }) => `GET /${user.name}`,
  warn: (code, message, request, error) => console.log(code, message, request, error),
};

/** Handlers of the Fetch API receive a plain Request. */
const handlers = createHttpGuard<Request>("GET", { limits, key: byHeader("x-api-key") });
const unknownClient: Client = { address: undefined, peer: undefined, isDisconnected: () => false };
void handlers.check(new Request("http://localhost"), unknownClient);

/** The options of an adapter's own function. */
export function rateLimit(options: GuardOptions<IncomingMessage>): HttpGuard<IncomingMessage> {
  return createHttpGuard("rateLimit", options, { passesResponse: true });
}

export async function limit(req: IncomingMessage, res: ServerResponse): Promise<boolean> {
  const client = clientOf(req.socket.remoteAddress, req);
  const count = ({ method }: IncomingMessage, { statusCode }: ServerResponse): boolean =>
    method === "POST" && statusCode >= 400;
  const verdict: Verdict = await rateLimit({ limits, count }).check(req, client, res);
  // @ts-expect-error a request that was not decided has no decision
  void verdict.decision;
  if (verdict.kind === "pass" || verdict.kind === "disconnected") return verdict.kind === "pass";
  setHeaders(res, verdict.headers);
  // @ts-expect-error a request that goes on has no rejection
  void verdict.rejection;
  if (verdict.kind !== "allowed") sendRejection(res, verdict.rejection);
  return verdict.kind === "allowed";
}
