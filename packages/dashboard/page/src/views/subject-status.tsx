import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { BlockRow, LimitRow, OverrideRow, SubjectStatus } from "../../../src/api.ts";
import { formatCount } from "../../../src/counts.ts";
import { isUnnamedDimension, shortenLimit, truncateVisible } from "../format/text.ts";
import { PageContext, subjectDrafts } from "../page-context.ts";
import { ActionButton } from "../parts/menu.tsx";
import { Badge } from "../parts/panel.tsx";
import { EndTime, LimiterLink, Name, ServerText, ShortEnd } from "../parts/text.tsx";
import { Actions } from "./log.tsx";

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
          <LimiterLink name={name} />
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
            `by ${setterOf(block)}`
          ) : (
            <>
              by the limit <Name value={block.limit} />
            </>
          )}
          , <EndTime at={block.until} />
          <Author row={block} />
        </p>
      ))}
      {override && (
        <p>
          <Badge tone="info">override</Badge> <ServerText text={override.change} />,{" "}
          <EndTime at={override.until} />
          <Author row={override} />
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

/** Who set a block that is no limit's: applications set blocks, too, and have no name. */
export function setterOf({ by, setBy }: BlockRow): string {
  if (by !== undefined || setBy === "operator") return "an operator";
  return setBy === "application" ? "the application" : "the application or an operator";
}

function Author({ row: { by, reason } }: { row: BlockRow | OverrideRow }): JSX.Element {
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
  const { limit, description, used, hasSlots, capacity, allowed } = row;
  const { nextAllowedAt, recoversFullyAt } = row;
  const share = capacity > 0 ? Math.min(1, used / capacity) : 1;
  return (
    <li>
      <span class="what">
        <Name value={limit} />{" "}
        <span class="quiet">
          <ServerText text={shortenLimit(description, limit)} />
        </span>
      </span>
      <span class={allowed ? "gauge" : "gauge full"} aria-hidden="true">
        <span style={{ width: `${share * 100}%` }} />
      </span>
      <span class="state">
        <strong>
          {formatCount(used)} of {formatCount(capacity)}
        </strong>{" "}
        {hasSlots ? "slots in use" : "used"}
        {!allowed && nextAllowedAt !== null && (
          <>
            ; allows the next request at <ShortEnd at={nextAllowedAt} />
          </>
        )}
        {recoversFullyAt !== null && used > 0 && (
          <span class="quiet">
            ; fully recovers at <ShortEnd at={recoversFullyAt} />
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
  const { isPermitted } = useContext(PageContext);
  const drafts = subjectDrafts(limiter, subject);
  const tools = [
    ["Unblock", "unblock", blocks.length > 0],
    ["Block", "block", true],
    ["Override", "setOverride", true],
    ["Remove override", "unsetOverride", override !== undefined],
    ["Reset", "reset", true],
    ["Forget", "forget", true],
  ] as const;
  return (
    <div class="tools">
      {tools.map(
        ([title, kind, applies]) =>
          applies &&
          isPermitted(kind) && (
            <ActionButton key={kind} draft={drafts[kind]}>
              {title}…
            </ActionButton>
          ),
      )}
    </div>
  );
}

/**
 * `until 14:03:12 by the limit burst of login: 20 per 10 seconds for each client.` With `isLimiterKnown`, it does not repeat the
 * name of the limiter.
 */
export function DenialCause({
  status: { deniedBy, name, limits, blocks, until },
  isLimiterKnown,
}: {
  status: SubjectStatus;
  isLimiterKnown?: boolean;
}): JSX.Element {
  const limit =
    deniedBy?.kind === "limit" ? limits.find((row) => row.limit === deniedBy.limit) : undefined;
  const manual = blocks.find((block) => block.limit === undefined);
  return (
    <>
      {until !== undefined && (
        <>
          until <ShortEnd at={until} />{" "}
        </>
      )}
      by {deniedBy?.kind === "block" && `a block that ${manual ? setterOf(manual) : "a limit"} set`}
      {deniedBy?.kind === "denyList" && "the deny list"}
      {deniedBy?.kind === "limit" &&
        (deniedBy.limit === undefined ? (
          "a limit"
        ) : (
          <>
            the limit <Name value={deniedBy.limit} />
          </>
        ))}
      {!isLimiterKnown && deniedBy?.kind !== "denyList" && (
        <>
          {deniedBy?.kind === "block" ? " in " : " of "}
          <Name value={name} />
        </>
      )}
      {limit && (
        <>
          : <ServerText text={shortenLimit(limit.description, limit.limit)} />
        </>
      )}
      .
    </>
  );
}
