import type { Channel } from "node:diagnostics_channel";
import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "../common/channels.ts";
import { publish } from "../common/publish.ts";
import type { StoreServer } from "./outage.ts";

/** How often the state of a server in use is published, so that a new subscriber learns of it within that time. */
const REPEAT_MS = 1_000;

/** Check `hasSubscribers` before `onAsked`. */
export const storeServers: Channel = channel(CHANNELS.storeServer);

/** Publishes the states of the servers of one watch. */
export interface ServerReports {
  /** Call it only if there are subscribers. `state` is undefined while the server has not answered anything. */
  onRequest(node: string, state: "up" | "down" | undefined): void;
  onChange(node: string, state: "up" | "down"): void;
  /** The server is no longer watched. */
  onForgotten(node: string): void;
}

export function createServerReports(): ServerReports {
  const watch = {};
  /** When each server was last reported. */
  const reported = new Map<string, number>();

  function report(node: string, state: StoreServer["state"]): void {
    if (!storeServers.hasSubscribers) return;
    reported.set(node, performance.now());
    publish(storeServers, { node, watch, state } satisfies StoreServer);
  }

  return {
    onRequest(node, state) {
      const last = reported.get(node);
      const isRecent = last !== undefined && performance.now() - last < REPEAT_MS;
      if (state !== undefined && !isRecent) report(node, state);
    },
    onChange: report,
    onForgotten(node) {
      if (reported.has(node)) report(node, "unwatched");
      reported.delete(node);
    },
  };
}
