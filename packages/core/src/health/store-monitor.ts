import { channel } from "node:diagnostics_channel";
import { shareByClient } from "../common/client-state.ts";
import { codeOf, HeadgateError } from "../common/errors.ts";
import { createOperatorLog, formatWithCause } from "../common/operator-log.ts";
import { CHANNELS, publish } from "../common/publish.ts";
import type { ScriptTransport } from "../store/store.ts";
import { ConnectGrace } from "./connect-grace.ts";
import type { ClockListener } from "./event-loop-clock.ts";
import { EventLoopClock } from "./event-loop-clock.ts";
import { ServerMonitor } from "./server-monitor.ts";
import { createServerReports, storeServers } from "./server-reports.ts";
import type { StoreDown, StoreMonitor, StoreTimeouts, StoreUp } from "./store-health.ts";

const storeDown = channel(CHANNELS.storeDown);
const storeUp = channel(CHANNELS.storeUp);

/** The number of servers from which on healthy ones without calls are forgotten. */
const MAX_REMEMBERED_NODES = 64;

/** The monitors of a client, by their timeouts. */
const monitorsOf = shareByClient("watches", () => new Map<string, StoreMonitor>());

/** The monitor of a client for these timeouts, created on first use. */
export function monitorStore(
  client: object,
  transport: ScriptTransport,
  times: StoreTimeouts,
): StoreMonitor {
  const monitors = monitorsOf(client);
  const key = `${times.timeoutMs} ${times.connectMs}`;
  const known = monitors.get(key);
  if (known !== undefined) return known;
  const monitor = createStoreMonitor(client, transport, times, () => monitors.delete(key));
  monitors.set(key, monitor);
  return monitor;
}

/** Whether an error means that the store could not answer now, so that retrying later may help. */
function isUnavailable(error: unknown): error is HeadgateError {
  return codeOf(error) === "HEADGATE_STORE_UNAVAILABLE";
}

/** The error of a call that timed out. */
export function timeoutError(ms: number, cause?: Error): HeadgateError {
  return new HeadgateError(
    "HEADGATE_STORE_UNAVAILABLE",
    `the store gave no answer within ${ms} ms`,
    { cause },
  );
}

/** The error of a call in flight when the client reported a connection error. */
function connectError(cause?: Error): HeadgateError {
  return new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "the client could not connect", { cause });
}

function createStoreMonitor(
  client: object,
  transport: ScriptTransport,
  { timeoutMs, connectMs }: StoreTimeouts,
  onUnused: () => void,
): StoreMonitor {
  const clock = new EventLoopClock(timeoutMs);
  const connectGrace = new ConnectGrace(client, transport, timeoutMs, connectMs);
  const nodes = new Map<string, ServerMonitor>();
  const log = createOperatorLog();
  const reports = createServerReports();
  const isSingleServer = transport.connectsTo === "one";
  let users = 0;

  function monitorNode(node: string): ServerMonitor {
    if (nodes.size >= MAX_REMEMBERED_NODES) forgetIdle();
    const server = node === "" ? "the store" : `the store's server ${node}`;
    const monitor = new ServerMonitor({
      timeoutMs,
      clock,
      connectGrace,
      isUnavailable,
      unansweredError: (withinMs) =>
        withinMs === undefined
          ? connectError(transport.lastError())
          : timeoutError(withinMs, transport.lastError()),
      onSilence: () => transport.refreshTopology(downNodes()),
      onProbeFailure(error) {
        if (!isUnavailable(error)) log.logThrottled(error);
      },
      onDown(reason) {
        publish(storeDown, { node, reason } satisfies StoreDown);
        reports.onChange(node, "down");
        log.log(
          "HEADGATE_STORE_DOWN",
          `${server} is down: ${formatWithCause(reason)}; until it answers, limits are decided by onUnavailable, and breakers by this process alone`,
          reason,
        );
      },
      onUp(downMs, rejectedCalls) {
        publish(storeUp, { node, downMs, rejectedCalls } satisfies StoreUp);
        reports.onChange(node, "up");
        log.log(
          "HEADGATE_STORE_UP",
          `${server} answers again after ${(downMs / 1_000).toFixed(1)} s; ${rejectedCalls} calls were not sent meanwhile`,
        );
      },
    });
    nodes.set(node, monitor);
    return monitor;
  }

  function downNodes(): ReadonlySet<string> {
    const down = [...nodes].filter(([, monitor]) => monitor.downReason !== undefined);
    return new Set(down.map(([node]) => node));
  }

  function forgetIdle(): void {
    for (const [node, monitor] of nodes) {
      if (!monitor.isIdle) continue;
      nodes.delete(node);
      reports.onUnwatched(node);
    }
  }

  return {
    timeoutMs,
    connectMs,
    now: () => clock.now(),

    giveUpAfter(ms, callback) {
      const until = clock.now() + ms;
      const listener: ClockListener = {
        keepsAlive: true,
        onTick(now) {
          const leftMs = Math.max(until, connectGrace.until) - now;
          if (leftMs > 1) return leftMs;
          clock.removeListener(listener);
          // A reply counts as late only if it is missing after everything that arrived meanwhile was read.
          setImmediate(callback);
          return Number.POSITIVE_INFINITY;
        },
      };
      clock.addListener(listener);
      return () => clock.removeListener(listener);
    },

    run(store, operation, call, counterKey, usedTimeoutMs, late) {
      const node = isSingleServer ? "" : transport.nodeOf(counterKey);
      const monitor = nodes.get(node) ?? monitorNode(node);
      if (storeServers.hasSubscribers) reports.onCall(node, monitor.state);
      return monitor.run(store, operation, call, counterKey, usedTimeoutMs, late);
    },

    downReason: (counterKey) => nodes.get(transport.nodeOf(counterKey))?.downReason,

    log,

    use() {
      users += 1;
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        users -= 1;
        if (users > 0) return;
        for (const [node, monitor] of nodes) {
          monitor.stop();
          reports.onUnwatched(node);
        }
        onUnused();
      };
    },
  };
}
