import type { JSX } from "preact";
import type { LimiterView } from "../../../../src/api.ts";
import { Chart } from "../../chart/chart.tsx";
import { usePolling } from "../../client/use-polling.ts";
import { Empty, Panel } from "../../parts/panel.tsx";
import { SpanSwitch } from "../../parts/span-switch.tsx";
import { Name } from "../../parts/text.tsx";
import type { Route } from "../../route.ts";
import { hrefOf, spanOf } from "../../route.ts";
import { Overrides } from "../control/overrides.tsx";
import { CoverageNote } from "../coverage-note.tsx";
import { Processes } from "../processes.tsx";
import { ByLimit } from "./by-limit.tsx";
import { LimiterHeadline } from "./headline.tsx";
import { Policies } from "./policies.tsx";
import { TopSubjects } from "./top-subjects.tsx";

/** One limiter: its denials, by subject and by limit, and the processes that have it. */
export function Limiter({ route, name }: { route: Route; name: string }): JSX.Element {
  const span = spanOf(route);
  const { data, failure } = usePolling<LimiterView>(`limiter ${span} ${name}`, (source, signal) =>
    source.limiter(name, span, signal),
  );
  if (data === undefined) {
    return (
      <>
        <h1>
          <Name value={name} />
        </h1>
        {failure?.status === 404 ? (
          <Empty>
            There is no limiter of this name that you may see.{" "}
            <a href={hrefOf("limiter")}>All limiters</a>
          </Empty>
        ) : (
          !failure && <p class="quiet">Loading…</p>
        )}
      </>
    );
  }
  return <Found view={data} route={route} />;
}

function Found({ view, route }: { view: LimiterView; route: Route }): JSX.Element {
  const { span, at, coverage, policies } = view;
  const policyOf = (id: string): string | undefined => {
    const found = policies.findIndex(({ processes }) => processes.includes(id));
    return found === -1 ? undefined : String.fromCharCode(65 + found);
  };
  return (
    <>
      <LimiterHeadline view={view} />
      <Panel
        title="Decisions per second"
        tools={<SpanSwitch route={route} span={span} />}
        note={<CoverageNote coverage={coverage} at={at} span={span} />}
      >
        <Chart
          series={{ stepMs: view.stepMs, points: view.series }}
          span={span}
          at={at}
          coverage={coverage}
        />
      </Panel>
      <div class="columns">
        <Policies policies={policies} processes={view.processes} />
        <ByLimit denials={view.denials} totals={view.totals} span={span} />
      </div>
      <div class="columns">
        <TopSubjects view={view} kind="denied" />
        <TopSubjects view={view} kind="used" />
      </div>
      <Panel title="Overrides">
        <Overrides overrides={view.overrides} isOfOne />
      </Panel>
      <Panel title="Processes">
        <Processes
          processes={view.processes}
          policyOf={policies.length > 1 ? policyOf : undefined}
        />
      </Panel>
    </>
  );
}
