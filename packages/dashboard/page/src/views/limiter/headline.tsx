import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { LimiterView } from "../../../../src/api.ts";
import { formatCount, formatRate, formatShare, pluralize } from "../../format/numbers.ts";
import { ratesOfMinute } from "../../format/rates.ts";
import { SPAN_PHRASES } from "../../format/span.ts";
import { PageContext } from "../../page-context.ts";
import { Badge } from "../../parts/badge.tsx";
import { Name } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";

/** The limiter's current rate of denials, with the actions on the whole limiter. */
export function LimiterHeadline({ view }: { view: LimiterView }): JSX.Element {
  const { name, shadow, policies, totals, lastMinute } = view;
  const now = ratesOfMinute(lastMinute);
  return (
    <div class="answer">
      <div class="with-tools">
        <h1>
          <Name of={name} />
          {shadow && <Badge tone="info">shadow: denies nothing</Badge>}
          {policies.length > 1 && <Badge tone="warn">{policies.length} policies</Badge>}
        </h1>
        <Tools view={view} />
      </div>
      <p>
        {shadow ? "It would deny " : "It denies "}
        <strong class={now.denied > 0 ? "is-denied" : ""}>
          {formatRate(now.denied)} requests a second
        </strong>{" "}
        now, of {formatRate(now.allowed + now.denied)}. <OverSpan view={view} />
        {totals.degraded > 0 && (
          <> {pluralize(totals.degraded, "decision was", "decisions were")} made without Redis.</>
        )}
      </p>
    </div>
  );
}

/** The rows of `byLimit` that do not name a limit. */
const NOT_LIMITS: readonly string[] = ["a block", "other limits"];

function OverSpan({ view: { totals, span, byLimit, denied } }: { view: LimiterView }): JSX.Element {
  const all = totals.allowed + totals.denied;
  const [limit] = byLimit;
  const [top] = denied;
  if (all === 0) return <>It decided nothing {SPAN_PHRASES[span]}.</>;
  return (
    <>
      {formatCount(totals.denied)} of {formatCount(all)} were denied {SPAN_PHRASES[span]} (
      {formatShare(totals.denied, all)})
      {limit && limit.denied > 0 && (
        <>
          , most by{" "}
          {NOT_LIMITS.includes(limit.limit) ? (
            limit.limit
          ) : (
            <>
              the limit <Name of={limit.limit} />
            </>
          )}
        </>
      )}
      {top && top.subject !== null && (
        <>
          , most of all{" "}
          <a href={hrefOf("subject", { subject: top.subject })}>
            <Name of={top.subject} />
          </a>
        </>
      )}
      .
    </>
  );
}

function Tools({ view }: { view: LimiterView }): JSX.Element | null {
  const { isPermitted, openDialog } = useContext(PageContext);
  const { name: limiter, shadow, policies, overrides } = view;
  if (!isPermitted("setOverride")) return null;
  const hasOwn = overrides.some(({ subject }) => subject === undefined);
  const unset = { kind: "unsetOverride", limiter } as const;
  return (
    <div class="tools">
      <button
        type="button"
        onClick={() =>
          openDialog({ form: "override", limiter, numbers: policies[0]?.numbers ?? {} })
        }
      >
        {hasOwn ? "Change the override…" : "Override its limits…"}
      </button>
      <button
        type="button"
        onClick={() => openDialog({ form: "shadow", limiter, shadow: !shadow })}
      >
        {shadow ? "Enforce…" : "Put in shadow mode…"}
      </button>
      {hasOwn && isPermitted("unsetOverride") && (
        <button
          type="button"
          onClick={() => openDialog({ form: "fixed", title: "Remove the override", action: unset })}
        >
          Remove the override…
        </button>
      )}
    </div>
  );
}
