import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { OverrideRow } from "../../../../src/api.ts";
import { pluralize } from "../../../../src/counts.ts";
import { formatSubject } from "../../format/subject.ts";
import { PageContext } from "../../page-context.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/panel.tsx";
import type { Column } from "../../parts/table.tsx";
import { Table, toolsColumn } from "../../parts/table.tsx";
import { ServerText, Subject } from "../../parts/text.tsx";
import {
  ActionButton,
  END_COLUMN,
  LIMITER_COLUMN,
  REASON_COLUMN,
  SET_BY_COLUMN,
} from "./columns.tsx";

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
  const remove = toolsColumn<OverrideRow>(({ limiter, subject }) => (
    <ActionButton
      label={`Remove the override of ${limiter} for ${formatSubject(subject)}`}
      title="Remove the override"
      action={{ kind: "unsetOverride", limiter, ...(subject ? { subject } : {}) }}
    >
      Remove…
    </ActionButton>
  ));
  const columns = isOfOne ? COLUMNS.filter((one) => one !== LIMITER_COLUMN) : COLUMNS;
  return (
    <Table
      label="Overrides"
      columns={isPermitted("unsetOverride") ? [...columns, remove] : columns}
      rows={overrides}
      keyOf={({ id }) => id}
    />
  );
}

const COLUMNS: readonly Column<OverrideRow>[] = [
  LIMITER_COLUMN,
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
