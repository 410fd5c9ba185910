import type { StoreServer } from "@headgate/core";
import { CHANNELS } from "@headgate/core";
import { INSTRUMENTS } from "./instruments.ts";
import { LabelledSeries } from "./labelled-series.ts";
import type { MetricsContext, Series, Subscription } from "./output.ts";

/** The label of a client's only server. */
const SINGLE_SERVER = "store";

/** The servers of one label. */
interface ServerSeries {
  readonly series: Series;
  /** How many monitors they have, and how many of these report a server as down. */
  monitors: number;
  monitorsDown: number;
}

/** Measures whether servers are up: a server is down if any monitor of this process reports it as down. */
export function measureServers({ output, budget }: MetricsContext): readonly Subscription[] {
  const all: Series[] = [];
  output.addSeries(INSTRUMENTS.storeUp, all);
  const servers = new LabelledSeries<ServerSeries>({
    names: ["server"],
    series: 1,
    budget,
    make(labels) {
      const series: Series = { labels, value: undefined };
      all.push(series);
      return { series, monitors: 0, monitorsDown: 0 };
    },
  });
  /** The state of each server, by monitor. */
  const states = new WeakMap<object, Map<string, StoreServer["state"]>>();

  function replace({ monitor, node, state }: StoreServer): StoreServer["state"] {
    const known = states.get(monitor) ?? new Map<string, StoreServer["state"]>();
    states.set(monitor, known);
    const before = known.get(node) ?? "unwatched";
    if (state === "unwatched") known.delete(node);
    else known.set(node, state);
    return before;
  }

  return [
    {
      channel: CHANNELS.storeServer,
      onMessage(message: StoreServer) {
        const { node, state } = message;
        const before = replace(message);
        const server = servers.of(node === "" ? SINGLE_SERVER : node);
        server.monitors += Number(state !== "unwatched") - Number(before !== "unwatched");
        server.monitorsDown += Number(state === "down") - Number(before === "down");
        const isUp = server.monitorsDown === 0 ? 1 : 0;
        server.series.value = server.monitors === 0 ? undefined : isUp;
      },
    },
  ];
}
