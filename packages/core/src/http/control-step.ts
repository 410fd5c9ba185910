import type { DeniedNetwork } from "../control/record.ts";
import { isActive } from "../control/record.ts";
import type { LimiterInternals } from "../limiter/limiter-internals.ts";
import type { AddressTest } from "../net/network.ts";
import { createNetworkTest, parseNetwork } from "../net/network.ts";
import type { Verdict } from "./apply-verdict.ts";
import { DISCONNECTED } from "./apply-verdict.ts";
import type { HttpRequest } from "./client.ts";
import type { TrustCheck } from "./proxy-trust.ts";
import { DENIED_BY_LIST } from "./rate-limit-response.ts";
import type { GuardStep, RequestContext } from "./request-context.ts";

/**
 * The step that reads operators' changes, and refuses clients on the deny list. `checkTrust` is called before an address is
 * looked up; `onRefused` is called for each refused request.
 */
export function createControlStep<Request extends HttpRequest>(
  { control, monitor }: Pick<LimiterInternals, "control" | "monitor">,
  checkTrust: TrustCheck | undefined,
  onRefused: (request: Request, list: "operatorDenyList") => void,
): GuardStep<Request> | undefined {
  if (control === undefined) return undefined;
  const { cache } = control;

  /** A client without an address is not on any list. */
  function check(context: RequestContext<Request>): Verdict | undefined {
    const { denyList } = cache.record;
    if (denyList === undefined) return undefined;
    const { request, client } = context;
    const { address } = client;
    if (!address) return client.isDisconnected() ? DISCONNECTED : undefined;
    if (client === context.frameworkClient) checkTrust?.(context);
    if (!activeEntriesAt(denyList, cache.now()).isDenied(address)) return undefined;
    onRefused(request, "operatorDenyList");
    return DENIED_BY_LIST;
  }

  async function checkLater(
    context: RequestContext<Request>,
    refreshed: Promise<void>,
  ): Promise<Verdict | undefined> {
    const began = monitor?.now() ?? 0;
    await refreshed;
    context.controlWaitMs = (monitor?.now() ?? 0) - began;
    context.isControlFresh = true;
    return check(context);
  }

  return (context) => {
    const refreshed = performance.now() >= cache.refreshDueAt ? control.refresh() : undefined;
    if (refreshed !== undefined) return checkLater(context, refreshed);
    context.isControlFresh = true;
    return cache.record.denyList === undefined ? undefined : check(context);
  };
}

/** The entries of a deny list that are in force until one of them ends. */
interface ActiveEntries {
  readonly isDenied: AddressTest;
  /** When the first of them ends, in microseconds of the server's clock. */
  readonly until: number;
}

/** Compiled once for each version of the list, and again when an entry ends. */
const compiled = new WeakMap<readonly DeniedNetwork[], ActiveEntries>();

/** The entries in force at a time, in microseconds of the server's clock. */
function activeEntriesAt(denied: readonly DeniedNetwork[], now: number): ActiveEntries {
  const known = compiled.get(denied);
  if (known !== undefined && now < known.until) return known;
  const lasting = denied.filter((entry) => isActive(entry, now));
  const networks = lasting.flatMap(({ network }) => parseNetwork(network) ?? []);
  const ends = lasting.map(({ until }) => until ?? Number.POSITIVE_INFINITY);
  const active = {
    isDenied: createNetworkTest(networks),
    until: ends.reduce((first, end) => Math.min(first, end), Number.POSITIVE_INFINITY),
  };
  compiled.set(denied, active);
  return active;
}
