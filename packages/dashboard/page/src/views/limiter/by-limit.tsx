import type { JSX } from "preact";
import type { LimiterView } from "../../../../src/api.ts";
import { SPAN_PHRASES } from "../../format/span.ts";
import { Bars } from "../../parts/bars.tsx";
import { Empty, Panel } from "../../parts/panel.tsx";
import { Name } from "../../parts/text.tsx";
import { DenialSource } from "./denial-source.tsx";

/** Denials by limit. */
export function ByLimit({
  denials,
  totals,
  span,
}: Pick<LimiterView, "denials" | "totals" | "span">): JSX.Element {
  return (
    <Panel
      title="Denials by limit"
      note={`Requests denied ${SPAN_PHRASES[span]}, by the limit that denied them.`}
    >
      {denials.length === 0 || totals.denied === 0 ? (
        <Empty>No limit denied anything {SPAN_PHRASES[span]}.</Empty>
      ) : (
        <Bars
          bars={denials.map(({ cause, denied }) => ({
            key: JSON.stringify(cause),
            count: denied,
            label:
              cause.kind === "limit" ? (
                <Name value={cause.limit} />
              ) : (
                <DenialSource cause={cause} />
              ),
          }))}
        />
      )}
    </Panel>
  );
}
