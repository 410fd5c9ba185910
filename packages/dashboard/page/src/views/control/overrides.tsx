import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { OverrideRow } from "../../../../src/api.ts";
import { counted } from "../../format/numbers.ts";
import { subjectInWords } from "../../format/subject.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/panel.tsx";
import type { Column } from "../../parts/table.tsx";
import { Table, toolsColumn } from "../../parts/table.tsx";
import { Subject, Words } from "../../parts/text.tsx";
import { PageContext } from "../../visit.ts";
import { ActionButton, ENDS, LIMITER, SET_BY, WHY } from "./cells.tsx";

/** Overrides in force, and whether processes apply them. */
export function Overrides({
  overrides,
  isOfOne,
}: {
  overrides: readonly OverrideRow[];
  /** Whether all of them belong to one limiter, whose name is then left out. */
  isOfOne?: boolean;
}): JSX.Element {
  const { may } = useContext(PageContext);
  if (overrides.length === 0) {
    return (
      <Empty>
        No override is in force. It changes a limit’s numbers for a time, for all or for one
        subject, without a deploy
        {isOfOne ? "." : ": set one from a limiter, or from a subject."}
      </Empty>
    );
  }
  const remove = toolsColumn<OverrideRow>(({ limiter, subject }) => (
    <ActionButton
      label={`Remove the override of ${limiter} for ${subjectInWords(subject)}`}
      title="Remove the override"
      action={{ kind: "unsetOverride", limiter, ...(subject ? { subject } : {}) }}
    >
      Remove…
    </ActionButton>
  ));
  const columns = isOfOne ? COLUMNS.filter((one) => one !== LIMITER) : COLUMNS;
  return (
    <Table
      label="Overrides"
      columns={may("unsetOverride") ? [...columns, remove] : columns}
      rows={overrides}
      keyOf={({ id }) => id}
    />
  );
}

const COLUMNS: readonly Column<OverrideRow>[] = [
  LIMITER,
  {
    title: "For",
    by: ({ subject }) => subjectInWords(subject),
    cell: ({ subject }) => <Subject of={subject} />,
  },
  { title: "Change", kind: "wide", cell: (row) => <Change row={row} /> },
  SET_BY,
  WHY,
  ENDS,
];

function Change({ row: { what, reach, appliedBy, ignored } }: { row: OverrideRow }): JSX.Element {
  return (
    <>
      <Words of={what} />
      <div>
        {reach === "ignored" && <Badge tone="bad">no process applies it</Badge>}
        {reach === "partly" && (
          <Badge tone="warn">
            only {counted(appliedBy, "process applies", "processes apply")} it
          </Badge>
        )}
        {reach === "unknown" && <Badge>not known whether it applies</Badge>}
        {reach === "in-force" && (
          <span class="quiet">applied by {counted(appliedBy, "process", "processes")}</span>
        )}
      </div>
      {ignored.map((why) => (
        <div key={why} class="quiet">
          <Words of={why} />
        </div>
      ))}
    </>
  );
}
