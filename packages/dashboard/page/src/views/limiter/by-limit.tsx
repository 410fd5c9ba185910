import type { JSX } from "preact";
import type { LimiterView } from "../../../../src/api.ts";
import { SPAN_PHRASES } from "../../format/span.ts";
import { Bars } from "../../parts/bars.tsx";
import { Empty, Panel } from "../../parts/panel.tsx";
import { Name } from "../../parts/text.tsx";

/** Denials by limit. */
export function ByLimit({
  byLimit,
  totals,
  span,
}: Pick<LimiterView, "byLimit" | "totals" | "span">): JSX.Element {
  return (
    <Panel
      title="Denials by limit"
      note={`Requests denied ${SPAN_PHRASES[span]}, by the limit that denied them.`}
    >
      {byLimit.length === 0 || totals.denied === 0 ? (
        <Empty>No limit denied anything {SPAN_PHRASES[span]}.</Empty>
      ) : (
        <Bars
          bars={byLimit.map(({ limit, denied }) => ({
            key: limit,
            count: denied,
            label: <Name of={limit} />,
          }))}
        />
      )}
    </Panel>
  );
}
