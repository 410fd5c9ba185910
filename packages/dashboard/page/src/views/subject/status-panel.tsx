import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { LimitRow, SubjectStatus } from "../../../../src/api.ts";
import { formatCount } from "../../../../src/counts.ts";
import { ACTION_NOTES } from "../../format/notes.ts";
import { isUnnamedDimension, shortenLimit } from "../../format/subject.ts";
import { truncateVisible } from "../../format/visible.ts";
import type { ActionDraft } from "../../page-context.ts";
import { PageContext } from "../../page-context.ts";
import { Badge } from "../../parts/badge.tsx";
import { Gauge } from "../../parts/bars.tsx";
import { EndTime, Name, ServerText, ShortTime } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";
import { Actions } from "../log.tsx";
import { DenialCause } from "./denial-cause.tsx";

/** The client's state in one limiter, under one of the versions of its policy. */
export function StatusPanel({
  status,
  versions,
}: {
  status: SubjectStatus;
  versions: number;
}): JSX.Element {
  const { name, dimension, allowed, wouldDeny, limits, blocks, override, history } = status;
  return (
    <section
      class={allowed ? "panel verdict" : "panel verdict denied"}
      aria-label={truncateVisible(`In ${name}`, 160)}
    >
      <header>
        <h2>
          <a href={hrefOf("limiter", { name })}>
            <Name value={name} />
          </a>
          {!isUnnamedDimension(dimension) && (
            <Badge>
              by <Name value={dimension} plain />
            </Badge>
          )}
          {versions > 1 && <Badge tone="warn">one of {versions} versions</Badge>}
          {!allowed && <Badge tone="bad">denied</Badge>}
          {allowed && wouldDeny && <Badge tone="info">in shadow mode: would be denied</Badge>}
          {allowed && !wouldDeny && <Badge tone="good">allowed</Badge>}
        </h2>
        <Tools status={status} />
      </header>
      {!allowed && (
        <p class="cause">
          Denied <DenialCause status={status} isLimiterKnown />
        </p>
      )}
      <ul class="limits">
        {limits.map((row, i) => (
          <Limit key={`${i} ${row.limit} ${row.per}`} row={row} />
        ))}
      </ul>
      {blocks.map((block) => (
        <p key={block.id}>
          <Badge tone="bad">blocked</Badge>{" "}
          {block.limit === undefined ? (
            "by an operator"
          ) : (
            <>
              by the limit <Name value={block.limit} />
            </>
          )}
          , <EndTime at={block.until} />
          <Author by={block.by} reason={block.reason} />
        </p>
      ))}
      {override && (
        <p>
          <Badge tone="info">override</Badge> <ServerText text={override.change} />,{" "}
          <EndTime at={override.until} />
          <Author by={override.by} reason={override.reason} />
        </p>
      )}
      {history.length > 0 && (
        <details class="history" open={history.length <= 3}>
          <summary>Operator actions</summary>
          <Actions rows={history} isOfOne />
        </details>
      )}
    </section>
  );
}

function Author({
  by,
  reason,
}: {
  by: string | undefined;
  reason: string | undefined;
}): JSX.Element {
  return (
    <>
      {by && (
        <>
          , set by <Name value={by} plain />
        </>
      )}
      {reason && (
        <>
          : “<ServerText text={reason} />”
        </>
      )}
    </>
  );
}

function Limit({ row }: { row: LimitRow }): JSX.Element {
  const { limit, description, used, capacity, allowed, nextAllowedAt, recoversFullyAt } = row;
  return (
    <li>
      <span class="what">
        <Name value={limit} />{" "}
        <span class="quiet">
          <ServerText text={shortenLimit(description, limit)} />
        </span>
      </span>
      <Gauge used={used} most={capacity} isFull={!allowed} />
      <span class="state">
        <strong>
          {formatCount(used)} of {formatCount(capacity)}
        </strong>{" "}
        used
        {!allowed && nextAllowedAt !== null && (
          <>
            ; allows the next request at <ShortTime at={nextAllowedAt} />
          </>
        )}
        {recoversFullyAt !== null && used > 0 && (
          <span class="quiet">
            ; fully recovers at <ShortTime at={recoversFullyAt} />
          </span>
        )}
      </span>
    </li>
  );
}

function Tools({
  status: { name: limiter, subject, blocks, override },
}: {
  status: SubjectStatus;
}): JSX.Element {
  const { isPermitted, openDialog } = useContext(PageContext);
  const tool = (title: string, draft: ActionDraft): JSX.Element => (
    <button type="button" onClick={() => openDialog(draft)}>
      {title}…
    </button>
  );
  const fixed = (
    kind: "unblock" | "reset" | "forget" | "unsetOverride",
    title: string,
    note?: string,
  ): JSX.Element =>
    tool(title, {
      form: "fixed",
      title,
      action: { kind, limiter, subject },
      ...(note ? { note } : {}),
    });
  return (
    <div class="tools">
      {isPermitted("unblock") && blocks.length > 0 && fixed("unblock", "Unblock")}
      {isPermitted("block") && tool("Block", { form: "block", limiter, subject })}
      {isPermitted("setOverride") && tool("Override", { form: "override", limiter, subject })}
      {isPermitted("unsetOverride") && override && fixed("unsetOverride", "Remove override")}
      {isPermitted("reset") && fixed("reset", "Reset", ACTION_NOTES.reset)}
      {isPermitted("forget") && fixed("forget", "Forget", ACTION_NOTES.forget)}
    </div>
  );
}
