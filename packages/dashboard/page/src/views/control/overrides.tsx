import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { OverrideRow } from "../../../../src/api.ts";
import { Badge, Unknown } from "../../parts/badge.tsx";
import { Empty } from "../../parts/panel.tsx";
import type { Column } from "../../parts/table.tsx";
import { Table } from "../../parts/table.tsx";
import { Name, Subject, When, Words } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";
import { Visit } from "../../visit.ts";
import { counted } from "../../words/numbers.ts";
import { subjectInWords } from "../../words/subject.ts";
import { visibleStart } from "../../words/visible.ts";
import { Ends, Why } from "./cells.tsx";

/** Overrides in force, and whether processes apply them. */
export function Overrides({
  overrides,
  isOfOne,
}: {
  overrides: readonly OverrideRow[];
  /** Whether all of them belong to one limiter, whose name is then left out. */
  isOfOne?: boolean;
}): JSX.Element {
  const { may, open } = useContext(Visit);
  if (overrides.length === 0) {
    return (
      <Empty>
        No override is in force. It changes a limit’s numbers for a time, for all or for one
        subject, without a deploy
        {isOfOne ? "." : ": set one from a limiter, or from a subject."}
      </Empty>
    );
  }
  const remove: Column<OverrideRow> = {
    title: "Actions",
    isSilent: true,
    kind: "tools",
    cell: ({ limiter, subject }) => (
      <button
        type="button"
        aria-label={visibleStart(
          `Remove the override of ${limiter} for ${subjectInWords(subject)}`,
          160,
        )}
        onClick={() =>
          open({
            form: "fixed",
            title: "Remove the override",
            action: { kind: "unsetOverride", limiter, ...(subject ? { subject } : {}) },
          })
        }
      >
        Remove…
      </button>
    ),
  };
  const columns = isOfOne ? COLUMNS.filter(({ title }) => title !== "Limiter") : COLUMNS;
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
  {
    title: "Limiter",
    by: ({ limiter }) => limiter,
    cell: ({ limiter }) => (
      <a href={hrefOf("limiter", { name: limiter })}>
        <Name of={limiter} />
      </a>
    ),
  },
  {
    title: "For",
    by: ({ subject }) => subjectInWords(subject),
    cell: ({ subject }) => <Subject of={subject} />,
  },
  { title: "Change", kind: "wide", cell: (row) => <Change row={row} /> },
  {
    title: "Set by",
    by: ({ by }) => by ?? "",
    cell: ({ by, from }) => (
      <>
        {by === undefined ? <Unknown /> : <Name of={by} plain />}
        <div class="quiet">
          <When at={from} />
        </div>
      </>
    ),
  },
  { title: "Why", kind: "wide", cell: ({ reason }) => <Why reason={reason} /> },
  {
    title: "Ends",
    by: ({ until }) => until ?? Number.MAX_VALUE,
    cell: ({ until }) => <Ends at={until} />,
  },
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
