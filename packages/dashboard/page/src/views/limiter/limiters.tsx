import type { JSX } from "preact";
import type { Overview } from "../../../../src/api.ts";
import { usePolling } from "../../client/use-polling.ts";
import { Loading } from "../../parts/loading.tsx";
import { Panel } from "../../parts/panel.tsx";
import { SpanSwitch } from "../../parts/span-switch.tsx";
import type { Route } from "../../route.ts";
import { hrefOf, spanOf } from "../../route.ts";
import { replaceHash } from "../../use-route.ts";
import { LimiterTable } from "../overview/limiter-table.tsx";

/** All limiters, to select one. */
export function Limiters({ route }: { route: Route }): JSX.Element {
  const span = spanOf(route);
  const find = route.params["find"] ?? "";
  const { data, failure } = usePolling<Overview>(`overview ${span}`, (source, signal) =>
    source.overview(span, signal),
  );
  if (data === undefined) return <Loading title="Limiters" failure={failure} />;
  return (
    <>
      <h1>Limiters</h1>
      <Panel
        title="By denials"
        tools={
          <>
            <input
              type="search"
              aria-label="Part of a limiter's name"
              placeholder="Part of a name"
              value={find}
              onInput={({ currentTarget }) =>
                replaceHash(hrefOf("limiter", { ...route.params, find: currentTarget.value }))
              }
            />
            <SpanSwitch route={route} span={span} />
          </>
        }
      >
        <LimiterTable overview={data} route={route} find={find} />
      </Panel>
    </>
  );
}
