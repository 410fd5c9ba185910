import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "../../channels.ts";
import { publish } from "../publish.ts";
import type { StoreServer } from "./outage.ts";

/** How often it is published how a server is doing that is asked: whoever begins to listen learns of it within that time. */
const REPEAT_MS = 1_000;

const storeServers = channel(CHANNELS.storeServer);

/** Publishes how the servers of one watch are doing. */
export interface ServerReports {
  /** To be called only where somebody listens. `state` is undefined as long as the server has answered nothing. */
  onAsked(node: string, state: "up" | "down" | undefined): void;
  onChange(node: string, state: "up" | "down"): void;
  /** Nobody watches the server any more. */
  onForgotten(node: string): void;
}

/** Whether anybody listens. */
export function areServersHeard(): boolean {
  return storeServers.hasSubscribers;
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
    onAsked(node, state) {
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
