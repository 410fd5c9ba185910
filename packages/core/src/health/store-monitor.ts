import type { Channel } from "node:diagnostics_channel";
import { channel } from "node:diagnostics_channel";
import { shareByClient } from "../common/client-state.ts";
import { codeOf, HeadgateError } from "../common/errors.ts";
import type { OperatorLog } from "../common/operator-log.ts";
import { createOperatorLog, formatWithCause } from "../common/operator-log.ts";
import { CHANNELS, publish } from "../common/publish.ts";
import type { CountingStore, Operation, ScriptTransport } from "../store/store.ts";
import { ConnectGrace } from "./connect-grace.ts";
import type { ClockListener } from "./event-loop-clock.ts";
import { EventLoopClock } from "./event-loop-clock.ts";
import type { OnLateReply } from "./server-monitor.ts";
import { ServerMonitor } from "./server-monitor.ts";

/** How long to wait for a store, in milliseconds in which this process runs. */
export interface StoreTimeouts {
  /** For each decision. */
  readonly timeoutMs: number;
  /** For the first answer of a client. */
  readonly connectMs: number;
}

/** Times out calls to a store, and rejects calls to a server that is down. Shared by all limiters of a client. */
export interface StoreMonitor extends StoreTimeouts {
  /** Milliseconds in which this process was running, counted while calls wait. */
  now(): number;
  /**
   * Calls back after this many milliseconds, but not before the end of the longer wait for a first reply. The returned function
   * cancels it.
   */
  giveUpAfter(ms: number, callback: () => void): () => void;
  /**
   * Runs a call on a counter's key in a store of the client. Rejects like the store, and with `HEADGATE_STORE_UNAVAILABLE` if
   * there was no answer in time; `usedTimeoutMs` of that time have passed already.
   *
   * `onLateReply` is called if the call may have taken effect after its caller gave up: with the late reply, or with undefined
   * if the call was sent and the store could not answer. Its errors are dropped.
   */
  run<Call, Reply>(
    store: CountingStore,
    operation: Operation<Call, Reply>,
    call: Call,
    counterKey: string,
    usedTimeoutMs?: number,
    onLateReply?: OnLateReply<Reply>,
  ): Promise<Reply>;
  /** Why the server of a counter's key is down; undefined if it is not known to be. */
  downReason(counterKey: string): HeadgateError | undefined;
  /** The log for this client. */
  readonly log: OperatorLog;
  /** Marks the client as in use until the returned function is called; when unused, the monitor stops probing the store. */
  use(): () => void;
}

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
          // A reply counts as late only if it is missing after everything that arrived meanwhile was read.
          setImmediate(callback);
          return undefined;
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

/** Published on `headgate:store:down`: a server stopped answering. */
export interface StoreDown {
  /** The server of a cluster, as the client names it; empty for a single server. */
  readonly node: string;
  /** The reason: its `code` is `HEADGATE_STORE_UNAVAILABLE`, its `cause` the client's own error, if there was one. */
  readonly reason: HeadgateError;
}

/** Published on `headgate:store:up`: a server answers again. */
export interface StoreUp {
  readonly node: string;
  /** How long it was down, in milliseconds. */
  readonly downMs: number;
  /** The number of calls that were not sent while it was down. */
  readonly rejectedCalls: number;
}

/** Published on `headgate:store:server`: the state of a server. */
export interface StoreServer {
  /** The server of a cluster, as the client names it; empty for a single server. */
  readonly node: string;
  /** One object for each client, `storeTimeout` and `connectTimeout`, because each of these monitors a server separately. */
  readonly monitor: object;
  /** `"unwatched"` if nothing in this process monitors the server any more. */
  readonly state: "up" | "down" | "unwatched";
}

/** How often the state of a server in use is published, so that a new subscriber learns of it within that time. */
const REPEAT_MS = 1_000;

/** Check `hasSubscribers` before calling `onCall`. */
const storeServers: Channel = channel(CHANNELS.storeServer);

/** Publishes the states of the servers of one monitor. */
function createServerReports() {
  const monitor = {};
  /** When each server was last reported. */
  const reportedAt = new Map<string, number>();

  function report(node: string, state: StoreServer["state"]): void {
    if (!storeServers.hasSubscribers) return;
    reportedAt.set(node, performance.now());
    publish(storeServers, { node, monitor, state } satisfies StoreServer);
  }

  return {
    /** Call it only if there are subscribers. `state` is undefined while the server has not answered anything. */
    onCall(node: string, state: "up" | "down" | undefined): void {
      const last = reportedAt.get(node);
      const isRecent = last !== undefined && performance.now() - last < REPEAT_MS;
      if (state !== undefined && !isRecent) report(node, state);
    },
    onChange: report,
    onUnwatched(node: string): void {
      if (reportedAt.has(node)) report(node, "unwatched");
      reportedAt.delete(node);
    },
  };
}
