import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { DenyListRow, OverrideRow } from "../../../src/api.ts";
import { pluralize } from "../../../src/counts.ts";
import { useServerNow } from "../client/server-clock.ts";
import { formatSubject } from "../format/text.ts";
import { formatDuration } from "../format/time.ts";
import type { ActionDraft } from "../page-context.ts";
import { PageContext } from "../page-context.ts";
import { ActionButton } from "../parts/menu.tsx";
import { Badge, Empty, Unknown } from "../parts/panel.tsx";
import type { Column } from "../parts/table.tsx";
import { Table } from "../parts/table.tsx";
import { LimiterLink, Name, ServerText, ShortEnd, ShortTime, Subject } from "../parts/text.tsx";

/** Overrides in force, and whether processes apply them. */
export function Overrides({
  overrides,
  isOfOne,
}: {
  overrides: readonly OverrideRow[];
  /** Whether all of them belong to one limiter, whose name is then left out. */
  isOfOne?: boolean;
}): JSX.Element {
  const { isPermitted } = useContext(PageContext);
  if (overrides.length === 0) {
    return (
      <Empty>
        No override is in force. An override changes a limit’s numbers for some time, for all
        subjects or for one, without a deploy
        {isOfOne ? "." : ": set one from a limiter, or from a subject."}
      </Empty>
    );
  }
  const remove = ({ limiter, subject }: OverrideRow) => (
    <ActionButton
      label={`Remove the override of ${limiter} for ${formatSubject(subject)}`}
      draft={removeOverride({ limiter, subject })}
    >
      Remove…
    </ActionButton>
  );
  return (
    <Table
      label="Overrides"
      columns={isOfOne ? COLUMNS : [LIMITER_COLUMN, ...COLUMNS]}
      tools={isPermitted("unsetOverride") && remove}
      rows={overrides}
      keyOf={({ id }) => id}
    />
  );
}

export function removeOverride({
  limiter,
  subject,
}: Pick<OverrideRow, "limiter" | "subject">): ActionDraft {
  const action = { kind: "unsetOverride", limiter, ...(subject ? { subject } : {}) } as const;
  return { form: "fixed", title: "Remove the override", action };
}

function Change({
  row: { change, coverage, appliedBy, ignoredReasons },
}: {
  row: OverrideRow;
}): JSX.Element {
  return (
    <>
      <ServerText text={change} />
      <div>
        {coverage === "ignored" && <Badge tone="bad">no process applies it</Badge>}
        {coverage === "partial" && (
          <Badge tone="warn">
            only {pluralize(appliedBy, "process applies", "processes apply")} it
          </Badge>
        )}
        {coverage === "unknown" && <Badge>unknown whether processes apply it</Badge>}
        {coverage === "in-force" && (
          <span class="quiet">applied by {pluralize(appliedBy, "process", "processes")}</span>
        )}
      </div>
      {ignoredReasons.map((why) => (
        <div key={why} class="quiet">
          <ServerText text={why} />
        </div>
      ))}
    </>
  );
}

export const LIMITER_COLUMN: Column<{ readonly limiter: string }> = {
  title: "Limiter",
  sortKey: ({ limiter }) => limiter,
  cell: ({ limiter }) => <LimiterLink name={limiter} />,
};

export const SET_BY_COLUMN: Column<Pick<DenyListRow, "by" | "from">> = {
  title: "Set by",
  sortKey: ({ by }) => by ?? "",
  cell: ({ by, from }) => (
    <>
      {by === undefined ? <Unknown /> : <Name value={by} plain />}
      <div class="quiet">
        from <ShortTime at={from} />
      </div>
    </>
  ),
};

export const REASON_COLUMN: Column<Pick<DenyListRow, "reason">> = {
  title: "Why",
  kind: "wide",
  cell: ({ reason }) => (reason ? <ServerText text={reason} /> : <span class="quiet">–</span>),
};

export const END_COLUMN: Column<Pick<DenyListRow, "until">> = {
  title: "Ends",
  sortKey: ({ until }) => until ?? Number.MAX_VALUE,
  cell: ({ until }) => <EndCell at={until} />,
};

/** When something ends, with the time left. */
function EndCell({ at }: { at: number | null }): JSX.Element {
  const now = useServerNow();
  if (at === null) return <span class="quiet">when removed</span>;
  if (at <= now) return <span class="quiet">ended</span>;
  return (
    <>
      in {formatDuration(at - now)}
      <div class="quiet">
        at <ShortEnd at={at} />
      </div>
    </>
  );
}

const COLUMNS: readonly Column<OverrideRow>[] = [
  {
    title: "For",
    sortKey: ({ subject }) => formatSubject(subject),
    cell: ({ subject }) => <Subject subject={subject} />,
  },
  { title: "Change", kind: "wide", cell: (row) => <Change row={row} /> },
  SET_BY_COLUMN,
  REASON_COLUMN,
  END_COLUMN,
];
