import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { LimitRow, SubjectInLimiter } from "../../../../src/api.ts";
import { NOTES } from "../../format/notes.ts";
import { formatCount } from "../../format/numbers.ts";
import { isPlain, limitInWords } from "../../format/subject.ts";
import { visibleStart } from "../../format/visible.ts";
import { Badge } from "../../parts/badge.tsx";
import { Gauge } from "../../parts/bars.tsx";
import { Name, Until, When, Words } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";
import type { Draft } from "../../visit.ts";
import { PageContext } from "../../visit.ts";
import { Actions } from "../log.tsx";
import { Cause } from "./cause.tsx";

/** One limiter's answer about the client, under one of the policies that processes have for it. */
export function InLimiter({
  one,
  policies,
}: {
  one: SubjectInLimiter;
  policies: number;
}): JSX.Element {
  const { name, dimension, allowed, shadow, limits, blocked, override, history } = one;
  return (
    <section
      class={allowed ? "panel verdict" : "panel verdict denied"}
      aria-label={visibleStart(`In ${name}`, 160)}
    >
      <header>
        <h2>
          <a href={hrefOf("limiter", { name })}>
            <Name of={name} />
          </a>
          {!isPlain(dimension) && (
            <Badge>
              by <Name of={dimension} plain />
            </Badge>
          )}
          {policies > 1 && <Badge tone="warn">one of {policies} policies</Badge>}
          {!allowed && <Badge tone="bad">denied</Badge>}
          {allowed && shadow && <Badge tone="info">in shadow: would be denied</Badge>}
          {allowed && !shadow && <Badge tone="good">allowed</Badge>}
        </h2>
        <Tools one={one} />
      </header>
      {!allowed && (
        <p class="cause">
          Denied by <Cause one={one} isInPlace />
        </p>
      )}
      <ul class="limits">
        {limits.map((row, i) => (
          <Limit key={`${i} ${row.limit} ${row.per}`} row={row} />
        ))}
      </ul>
      {blocked.map((block) => (
        <p key={block.id}>
          <Badge tone="bad">blocked</Badge>{" "}
          {block.setAs === "hand" ? (
            "by hand"
          ) : (
            <>
              by the limit <Name of={block.setAs} />
            </>
          )}
          , <Until at={block.until} />
          <Author by={block.by} reason={block.reason} />
        </p>
      ))}
      {override && (
        <p>
          <Badge tone="info">override</Badge> <Words of={override.what} />,{" "}
          <Until at={override.until} />
          <Author by={override.by} reason={override.reason} />
        </p>
      )}
      {history.length > 0 && (
        <details class="history" open={history.length <= 3}>
          <summary>What operators did to it</summary>
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
          : “<Words of={reason} />”
        </>
      )}
    </>
  );
}

function Limit({ row }: { row: LimitRow }): JSX.Element {
  const { limit, words, used, most, remaining, allowed, allowsAt, unusedAt } = row;
  return (
    <li>
      <span class="what">
        <Name of={limit} />{" "}
        <span class="quiet">
          <Words of={limitInWords(words, limit)} />
        </span>
      </span>
      <Gauge used={used} most={most} isFull={!allowed} />
      <span class="state">
        <strong>
          {formatCount(used)} of {formatCount(most)}
        </strong>{" "}
        used, {formatCount(remaining)} left
        {!allowed && allowsAt !== null && (
          <>
            ; allows again at <When at={allowsAt} />
          </>
        )}
        {unusedAt !== null && used > 0 && (
          <span class="quiet">
            ; unused again at <When at={unusedAt} />
          </span>
        )}
      </span>
    </li>
  );
}

function Tools({
  one: { name: limiter, subject, blocked, override },
}: {
  one: SubjectInLimiter;
}): JSX.Element {
  const { may, open } = useContext(PageContext);
  const tool = (title: string, draft: Draft): JSX.Element => (
    <button type="button" onClick={() => open(draft)}>
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
      {may("unblock") && blocked.length > 0 && fixed("unblock", "Unblock")}
      {may("block") && tool("Block", { form: "block", limiter, subject })}
      {may("setOverride") && tool("Override", { form: "override", limiter, subject })}
      {may("unsetOverride") && override && fixed("unsetOverride", "Remove override")}
      {may("reset") && fixed("reset", "Reset", NOTES.reset)}
      {may("forget") && fixed("forget", "Forget", NOTES.forget)}
    </div>
  );
}
