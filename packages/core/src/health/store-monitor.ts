import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "../common/channels.ts";
import { shareByClient } from "../common/client-state.ts";
import { codeOf, HeadgateError } from "../common/errors.ts";
import { createOperatorLog, formatWithCause } from "../common/operator-log.ts";
import { publish } from "../common/publish.ts";
import type { ScriptTransport } from "../store/store.ts";
import { Connecting } from "./connect-grace.ts";
import type { Awaited } from "./event-loop-clock.ts";
import { RunningClock } from "./event-loop-clock.ts";
import type { StoreDown, StoreMonitor, StoreTimes, StoreUp } from "./outage.ts";
import { ServerMonitor } from "./server-monitor.ts";
import { createServerReports, storeServers } from "./server-reports.ts";

const storeDown = channel(CHANNELS.storeDown);
const storeUp = channel(CHANNELS.storeUp);

/** How many servers are remembered before healthy ones are forgotten. */
const MANY_NODES = 64;

/** By the times of each. */
const watchesOf = shareByClient("watches", () => new Map<string, StoreMonitor>());

/** The watch of a client, for the same times. */
export function watchStore(
  client: object,
  remote: ScriptTransport,
  times: StoreTimes,
): StoreMonitor {
  const watches = watchesOf(client);
  const key = `${times.timeoutMs} ${times.connectMs}`;
  const known = watches.get(key);
  if (known !== undefined) return known;
  const watch = createWatch(client, remote, times, () => watches.delete(key));
  watches.set(key, watch);
  return watch;
}

/** Whether an error means that the store could not answer now, so that retrying later may help. */
function isUnavailable(error: unknown): error is HeadgateError {
  return codeOf(error) === "HEADGATE_STORE_UNAVAILABLE";
}

/** The error of a call that the store has not answered in time. */
export function noAnswerWithin(ms: number, cause?: Error): HeadgateError {
  return new HeadgateError(
    "HEADGATE_STORE_UNAVAILABLE",
    `the store gave no answer within ${ms} ms`,
    { cause },
  );
}

/** The error of a call in progress when the client reported that it cannot connect. */
function notConnected(cause?: Error): HeadgateError {
  return new HeadgateError("HEADGATE_STORE_UNAVAILABLE", "the client could not connect", { cause });
}

function createWatch(
  client: object,
  remote: ScriptTransport,
  { timeoutMs, connectMs }: StoreTimes,
  onUnused: () => void,
): StoreMonitor {
  const clock = new RunningClock(timeoutMs);
  const connecting = new Connecting(client, remote, timeoutMs, connectMs);
  const nodes = new Map<string, ServerMonitor>();
  const notices = createOperatorLog();
  const reports = createServerReports();
  const isOne = remote.connectsTo === "one";
  let users = 0;

  function watchNode(node: string): ServerMonitor {
    if (nodes.size >= MANY_NODES) forgetIdle();
    const where = node === "" ? "the store" : `the store's server ${node}`;
    const watch = new ServerMonitor({
      timeoutMs,
      clock,
      connecting,
      isUnavailable,
      late: (withinMs) =>
        withinMs === undefined
          ? notConnected(remote.lastError())
          : noAnswerWithin(withinMs, remote.lastError()),
      onSilence: () => remote.refreshTopology(downNodes()),
      onProbeFailure(error) {
        if (!isUnavailable(error)) notices.logThrottled(error);
      },
      onDown(reason) {
        publish(storeDown, { node, reason } satisfies StoreDown);
        reports.onChange(node, "down");
        notices.log(
          "HEADGATE_STORE_DOWN",
          `${where} is down: ${formatWithCause(reason)}; until it answers, limits are decided by onUnavailable, and breakers by this process alone`,
          reason,
        );
      },
      onUp(downMs, refused) {
        publish(storeUp, { node, downMs, refused } satisfies StoreUp);
        reports.onChange(node, "up");
        notices.log(
          "HEADGATE_STORE_UP",
          `${where} answers again after ${(downMs / 1_000).toFixed(1)} s; ${refused} calls were not sent meanwhile`,
        );
      },
    });
    nodes.set(node, watch);
    return watch;
  }

  function downNodes(): ReadonlySet<string> {
    const down = [...nodes].filter(([, watch]) => watch.downReason !== undefined);
    return new Set(down.map(([node]) => node));
  }

  function forgetIdle(): void {
    for (const [node, watch] of nodes) {
      if (!watch.isIdle) continue;
      nodes.delete(node);
      reports.onForgotten(node);
    }
  }

  return {
    timeoutMs,
    connectMs,
    now: () => clock.now(),

    giveUpAfter(ms, callback) {
      const until = clock.now() + ms;
      const awaited: Awaited = {
        keepsAlive: true,
        onBeat(now) {
          const leftMs = Math.max(until, connecting.until) - now;
          if (leftMs > 1) return leftMs;
          clock.leave(awaited);
          // A reply counts as late only if it is missing after everything that arrived meanwhile was read.
          setImmediate(callback);
          return Number.POSITIVE_INFINITY;
        },
      };
      clock.attend(awaited);
      return () => clock.leave(awaited);
    },

    run(store, operation, call, counterKey, waitedMs, late) {
      const node = isOne ? "" : remote.nodeOf(counterKey);
      const watch = nodes.get(node) ?? watchNode(node);
      if (storeServers.hasSubscribers) reports.onRequest(node, watch.state);
      return watch.run(store, operation, call, counterKey, waitedMs, late);
    },

    downReason: (counterKey) => nodes.get(remote.nodeOf(counterKey))?.downReason,

    notices,

    use() {
      users += 1;
      let isReleased = false;
      return () => {
        if (isReleased) return;
        isReleased = true;
        users -= 1;
        if (users > 0) return;
        for (const [node, watch] of nodes) {
          watch.stop();
          reports.onForgotten(node);
        }
        onUnused();
      };
    },
  };
}
