import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { LimiterView } from "../../../../src/api.ts";
import { formatCount, pluralize } from "../../../../src/counts.ts";
import { formatRate, formatShare } from "../../format/numbers.ts";
import { ratesOfMinute } from "../../format/rates.ts";
import { SPAN_PHRASES } from "../../format/span.ts";
import { PageContext } from "../../page-context.ts";
import { Badge } from "../../parts/badge.tsx";
import { Name } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";
import { DenialSource } from "./denial-source.tsx";

/** The limiter's current rate of denials, with the actions on the whole limiter. */
export function LimiterHeadline({ view }: { view: LimiterView }): JSX.Element {
  const { name, shadow, policies, totals, lastMinute } = view;
  const now = ratesOfMinute(lastMinute);
  return (
    <div class="headline">
      <div class="with-tools">
        <h1>
          <Name value={name} />
          {shadow && <Badge tone="info">shadow: denies nothing</Badge>}
          {policies.length > 1 && <Badge tone="warn">{policies.length} versions</Badge>}
        </h1>
        <Tools view={view} />
      </div>
      <p>
        {shadow ? "It would now deny " : "It now denies "}
        <strong class={now.denied > 0 ? "is-denied" : ""}>
          {formatRate(now.denied)} of {formatRate(now.allowed + now.denied)} requests per second
        </strong>
        . <OverSpan view={view} />
        {totals.degraded > 0 && (
          <> {pluralize(totals.degraded, "decision was", "decisions were")} made without Redis.</>
        )}
      </p>
    </div>
  );
}

function OverSpan({ view: { totals, span, denials, denied } }: { view: LimiterView }): JSX.Element {
  const all = totals.allowed + totals.denied;
  const [most] = denials;
  const [top] = denied;
  if (all === 0) return <>It decided nothing {SPAN_PHRASES[span]}.</>;
  return (
    <>
      {formatCount(totals.denied)} of {formatCount(all)} were denied {SPAN_PHRASES[span]} (
      {formatShare(totals.denied, all)})
      {most && most.denied > 0 && (
        <>
          , most by <DenialSource cause={most.cause} />
        </>
      )}
      {top && top.subject !== null && (
        <>
          , most of all{" "}
          <a href={hrefOf("subject", { subject: top.subject })}>
            <Name value={top.subject} />
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
