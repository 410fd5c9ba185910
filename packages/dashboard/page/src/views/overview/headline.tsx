import type { JSX } from "preact";
import type { Overview } from "../../../../src/api.ts";
import { formatCount } from "../../../../src/counts.ts";
import { formatShare } from "../../format/numbers.ts";
import { SPAN_PHRASES } from "../../format/span.ts";
import { Name } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";

/** The current state in a sentence, and the totals over the span. */
export function OverviewHeadline({ overview }: { overview: Overview }): JSX.Element {
  const { totals, span, limiters, lastMinute } = overview;
  const all = totals.allowed + totals.denied;
  const now = lastMinute;
  const first = limiters.find(({ shadow }) => !shadow);
  if (all === 0) return <NoRequests overview={overview} />;
  return (
    <div class="headline">
      <h1>
        {now.denied === 0
          ? "Nothing is denied now."
          : `${formatShare(now.denied, now.allowed + now.denied)} of requests are denied now.`}
      </h1>
      <p>
        {capitalize(SPAN_PHRASES[span])}, {formatCount(totals.denied)} of {formatCount(all)}{" "}
        requests were denied ({formatShare(totals.denied, all)})
        {first && first.totals.denied > 0 && (
          <>
            , {formatShare(first.totals.denied, totals.denied)} of them by{" "}
            <a href={hrefOf("limiter", { name: first.name, span })}>
              <Name value={first.name} />
            </a>
          </>
        )}
        .<ShadowNote overview={overview} />
      </p>
    </div>
  );
}

/** The requests that limiters in shadow mode would have denied. */
function ShadowNote({ overview: { shadow } }: { overview: Overview }): JSX.Element | null {
  const { denied } = shadow.totals;
  if (denied === 0) return null;
  return <> Limiters in shadow mode would have denied {formatCount(denied)} more.</>;
}

function NoRequests({ overview: { span, limiters } }: { overview: Overview }): JSX.Element {
  return (
    <div class="headline">
      <h1>No request was counted {SPAN_PHRASES[span]}.</h1>
      <p>
        {limiters.length === 0
          ? "No process has registered a limiter either. A process appears here ten seconds after it has created its first limiter with a store on this Redis, under this prefix."
          : "Only processes with usage turned on are counted: set the option usage of their store."}
      </p>
    </div>
  );
}

function capitalize(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
