import type { Channel } from "node:diagnostics_channel";
import { channel } from "node:diagnostics_channel";
import { CHANNELS, publish } from "../common/publish.ts";
import type { StoreServer } from "./store-health.ts";

/** How often the state of a server in use is published, so that a new subscriber learns of it within that time. */
const REPEAT_MS = 1_000;

/** Check `hasSubscribers` before calling `onCall`. */
export const storeServers: Channel = channel(CHANNELS.storeServer);

/** Publishes the states of the servers of one monitor. */
export interface ServerReports {
  /** Call it only if there are subscribers. `state` is undefined while the server has not answered anything. */
  onCall(node: string, state: "up" | "down" | undefined): void;
  onChange(node: string, state: "up" | "down"): void;
  /** The server is no longer monitored. */
  onUnwatched(node: string): void;
}

export function createServerReports(): ServerReports {
  const monitor = {};
  /** When each server was last reported. */
  const reportedAt = new Map<string, number>();

  function report(node: string, state: StoreServer["state"]): void {
    if (!storeServers.hasSubscribers) return;
    reportedAt.set(node, performance.now());
    publish(storeServers, { node, monitor, state } satisfies StoreServer);
  }

  return {
    onCall(node, state) {
      const last = reportedAt.get(node);
      const isRecent = last !== undefined && performance.now() - last < REPEAT_MS;
      if (state !== undefined && !isRecent) report(node, state);
    },
    onChange: report,
    onUnwatched(node) {
      if (reportedAt.has(node)) report(node, "unwatched");
      reportedAt.delete(node);
    },
  };
}
