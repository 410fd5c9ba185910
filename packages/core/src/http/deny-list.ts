import type { DeniedNetwork } from "../control/record.ts";
import { isActive } from "../control/record.ts";
import type { LimiterInternals } from "../limiter/limiter-internals.ts";
import { parseNetwork, positionOf } from "../net/network.ts";
import type { NetworkSet } from "../net/network-set.ts";
import { createNetworkSet } from "../net/network-set.ts";
import type { HttpRequest, TrustWatch } from "./client.ts";
import { BLOCKED } from "./refusals.ts";
import type { GuardStep, RequestContext } from "./request-context.ts";
import type { Verdict } from "./verdict.ts";
import { LEFT } from "./verdict.ts";

/**
 * The step that reads operators' changes, and refuses clients on the deny list. `watchTrust` is called before an address is
 * looked up; `note` is called for each refused request.
 */
export function createControlStep<Request extends HttpRequest>(
  { control, monitor }: Pick<LimiterInternals, "control" | "monitor">,
  watchTrust: TrustWatch | undefined,
  note: (request: Request, list: "denyList") => void,
): GuardStep<Request> | undefined {
  if (control === undefined) return undefined;
  const { cache } = control;

  /** A client without an address is not on any list. */
  function check(context: RequestContext<Request>): Verdict | undefined {
    const { denied } = cache.record;
    if (denied === undefined) return undefined;
    const { request, client } = context;
    const { address } = client;
    if (!address) return client.hasLeft() ? LEFT : undefined;
    if (client === context.connected) watchTrust?.(context);
    if (!isDenied(denied, address, cache.now())) return undefined;
    note(request, "denyList");
    return BLOCKED;
  }

  async function checkLater(
    context: RequestContext<Request>,
    refreshed: Promise<void>,
  ): Promise<Verdict | undefined> {
    const began = monitor?.now() ?? 0;
    await refreshed;
    context.controlMs = (monitor?.now() ?? 0) - began;
    context.isFresh = true;
    return check(context);
  }

  return (context) => {
    const refreshed = performance.now() >= cache.refreshDueAt ? control.refresh() : undefined;
    if (refreshed !== undefined) return checkLater(context, refreshed);
    context.isFresh = true;
    return cache.record.denied === undefined ? undefined : check(context);
  };
}

/** The networks of a deny list in force until one of them ends. */
interface InForce {
  readonly networks: NetworkSet;
  /** When the first of them ends, in microseconds of the server's clock. */
  readonly until: number;
}

/** Compiled once for each version of the list, and again when an entry ends. */
const compiled = new WeakMap<readonly DeniedNetwork[], InForce>();

/** Whether an address is on a deny list at a time, in microseconds of the server's clock. */
function isDenied(denied: readonly DeniedNetwork[], address: string, now: number): boolean {
  const position = positionOf(address);
  return position !== undefined && inForceAt(denied, now).networks.has(position);
}

function inForceAt(denied: readonly DeniedNetwork[], now: number): InForce {
  const known = compiled.get(denied);
  if (known !== undefined && now < known.until) return known;
  const lasting = denied.filter((entry) => isActive(entry, now));
  const networks = lasting.flatMap(({ network }) => parseNetwork(network) ?? []);
  const ends = lasting.map(({ until }) => until ?? Number.POSITIVE_INFINITY);
  const inForce = {
    networks: createNetworkSet(networks),
    until: ends.reduce((first, end) => Math.min(first, end), Number.POSITIVE_INFINITY),
  };
  compiled.set(denied, inForce);
  return inForce;
}
