import type { JSX } from "preact";
import type { Overview } from "../../../../src/api.ts";
import { Chart } from "../../chart/chart.tsx";
import { usePolling } from "../../client/use-polling.ts";
import { Loading } from "../../parts/loading.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SpanSwitch } from "../../parts/span-switch.tsx";
import type { Route } from "../../route.ts";
import { hrefOf, spanOf } from "../../route.ts";
import { CoverageNote } from "../coverage-note.tsx";
import { Processes } from "../processes.tsx";
import { Attention } from "./attention.tsx";
import { OverviewHeadline } from "./headline.tsx";
import { LimiterTable } from "./limiter-table.tsx";
import { OverviewTiles } from "./tiles.tsx";

/** The overview of the fleet: the decisions, the items that need attention, and the limiters. */
export function OverviewView({ route }: { route: Route }): JSX.Element {
  const span = spanOf(route);
  const { data, failure } = usePolling<Overview>(`overview ${span}`, (source, signal) =>
    source.overview(span, signal),
  );
  if (data === undefined) return <Loading title="Overview" failure={failure} />;
  return (
    <>
      <OverviewHeadline overview={data} />
      <Attention overview={data} />
      <OverviewTiles overview={data} />
      <Panel
        title="Decisions per second"
        tools={<SpanSwitch route={route} span={span} />}
        note={<CoverageNote coverage={data.coverage} at={data.at} span={span} />}
      >
        <Chart
          series={{ stepMs: data.stepMs, points: data.series }}
          span={span}
          at={data.at}
          coverage={data.coverage}
        />
      </Panel>
      <Panel
        title="Limiters"
        tools={<a href={hrefOf("limiter", { span: route.params["span"] })}>Find a limiter</a>}
      >
        <LimiterTable overview={data} route={route} most={20} />
      </Panel>
      <Panel title="Processes">
        <Processes processes={data.processes} />
      </Panel>
    </>
  );
}
