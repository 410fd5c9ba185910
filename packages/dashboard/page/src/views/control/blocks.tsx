import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { BlockRow } from "../../../../src/api.ts";
import { formatSubject } from "../../format/subject.ts";
import { PageContext } from "../../page-context.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty } from "../../parts/panel.tsx";
import type { Column } from "../../parts/table.tsx";
import { Table, toolsColumn } from "../../parts/table.tsx";
import { Name, Subject } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";
import { ActionButton, END_COLUMN, LIMITER_COLUMN, REASON_COLUMN } from "./columns.tsx";

/** Blocks in force. */
export function Blocks({
  blocks,
  isKnown,
}: {
  blocks: readonly BlockRow[];
  isKnown: boolean;
}): JSX.Element {
  const { isPermitted } = useContext(PageContext);
  if (blocks.length === 0) {
    return (
      <Empty>
        {isKnown ? "No subject is blocked." : "No block is known."} To block a subject, use its row
        in a limiter’s tables of subjects, or “Why denied?”.
      </Empty>
    );
  }
  const unblock = toolsColumn<BlockRow>(
    ({ limiter, subject, hash }) =>
      // A subject can only be unblocked if its text is known.
      hash === undefined && (
        <ActionButton
          label={`Unblock ${formatSubject(subject)} in ${limiter}`}
          title="Unblock"
          action={{ kind: "unblock", limiter, subject }}
        >
          Unblock…
        </ActionButton>
      ),
  );
  return (
    <Table
      label="Blocks"
      columns={isPermitted("unblock") ? [...COLUMNS, unblock] : COLUMNS}
      rows={blocks}
      keyOf={({ id }) => id}
    />
  );
}

const COLUMNS: readonly Column<BlockRow>[] = [
  {
    title: "Subject",
    kind: "wide",
    sortKey: ({ subject, hash }) => hash ?? formatSubject(subject),
    cell: ({ subject, limiter, hash }) => {
      if (hash !== undefined) {
        return (
          <>
            <Name value={hash} /> <Badge>hash</Badge>
          </>
        );
      }
      const only = Object.values(subject).length === 1 ? Object.values(subject)[0] : undefined;
      return only === undefined ? (
        <Subject subject={subject} />
      ) : (
        <a href={hrefOf("subject", { subject: only, limiter })}>
          <Subject subject={subject} />
        </a>
      );
    },
  },
  {
    ...LIMITER_COLUMN,
    cell: (row) => (
      <>
        {LIMITER_COLUMN.cell(row)}
        {row.shadow && <Badge tone="info">shadow: denies no request</Badge>}
      </>
    ),
  },
  {
    title: "Set by",
    sortKey: ({ limit, by }) => by ?? limit ?? "",
    cell: ({ limit, by }) =>
      limit === undefined ? (
        by === undefined ? (
          "an operator"
        ) : (
          <Name value={by} plain />
        )
      ) : (
        <>
          limit <Name value={limit} />
        </>
      ),
  },
  REASON_COLUMN,
  END_COLUMN,
];
