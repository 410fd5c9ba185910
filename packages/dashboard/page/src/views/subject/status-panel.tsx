import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { LimitRow, SubjectStatus } from "../../../../src/api.ts";
import { ACTION_NOTES } from "../../format/notes.ts";
import { formatCount } from "../../format/numbers.ts";
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
  one: status,
  policies,
}: {
  one: SubjectStatus;
  policies: number;
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
            <Name of={name} />
          </a>
          {!isUnnamedDimension(dimension) && (
            <Badge>
              by <Name of={dimension} plain />
            </Badge>
          )}
          {policies > 1 && <Badge tone="warn">one of {policies} policies</Badge>}
          {!allowed && <Badge tone="bad">denied</Badge>}
          {allowed && wouldDeny && <Badge tone="info">in shadow mode: would be denied</Badge>}
          {allowed && !wouldDeny && <Badge tone="good">allowed</Badge>}
        </h2>
        <Tools one={status} />
      </header>
      {!allowed && (
        <p class="cause">
          Denied by <DenialCause one={status} isInPlace />
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
          {block.setAs === "hand" ? (
            "by hand"
          ) : (
            <>
              by the limit <Name of={block.setAs} />
            </>
          )}
          , <EndTime at={block.until} />
          <Author by={block.by} reason={block.reason} />
        </p>
      ))}
      {override && (
        <p>
          <Badge tone="info">override</Badge> <ServerText of={override.change} />,{" "}
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
          , set by <Name of={by} plain />
        </>
      )}
      {reason && (
        <>
          : “<ServerText of={reason} />”
        </>
      )}
    </>
  );
}

function Limit({ row }: { row: LimitRow }): JSX.Element {
  const { limit, description, used, capacity, remaining, allowed, nextAllowedAt, recoversFullyAt } =
    row;
  return (
    <li>
      <span class="what">
        <Name of={limit} />{" "}
        <span class="quiet">
          <ServerText of={shortenLimit(description, limit)} />
        </span>
      </span>
      <Gauge used={used} most={capacity} isFull={!allowed} />
      <span class="state">
        <strong>
          {formatCount(used)} of {formatCount(capacity)}
        </strong>{" "}
        used, {formatCount(remaining)} left
        {!allowed && nextAllowedAt !== null && (
          <>
            ; allows again at <ShortTime at={nextAllowedAt} />
          </>
        )}
        {recoversFullyAt !== null && used > 0 && (
          <span class="quiet">
            ; unused again at <ShortTime at={recoversFullyAt} />
          </span>
        )}
      </span>
    </li>
  );
}

function Tools({
  one: { name: limiter, subject, blocks, override },
}: {
  one: SubjectStatus;
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
