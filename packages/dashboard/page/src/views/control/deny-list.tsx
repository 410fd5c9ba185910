import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { DenyListRow } from "../../../../src/api.ts";
import { PageContext } from "../../page-context.ts";
import { Empty } from "../../parts/panel.tsx";
import type { Column } from "../../parts/table.tsx";
import { Table, toolsColumn } from "../../parts/table.tsx";
import { Name } from "../../parts/text.tsx";
import { ActionButton, END_COLUMN, REASON_COLUMN, SET_BY_COLUMN } from "./columns.tsx";

/** The networks that all HTTP limiters deny. */
export function DenyList({ denied }: { denied: readonly DenyListRow[] }): JSX.Element {
  const { isPermitted } = useContext(PageContext);
  if (denied.length === 0) return <Empty>No address is on the deny list.</Empty>;
  const remove = toolsColumn<DenyListRow>(({ network }) => (
    <ActionButton
      label={`Remove ${network} from the deny list`}
      title="Remove from the deny list"
      action={{ kind: "removeFromDenyList", network }}
    >
      Remove…
    </ActionButton>
  ));
  return (
    <Table
      label="Deny list"
      columns={isPermitted("removeFromDenyList") ? [...COLUMNS, remove] : COLUMNS}
      rows={denied}
      keyOf={({ id }) => id}
    />
  );
}

const COLUMNS: readonly Column<DenyListRow>[] = [
  {
    title: "Network",
    sortKey: ({ network }) => network,
    cell: ({ network }) => <Name value={network} />,
  },
  SET_BY_COLUMN,
  REASON_COLUMN,
  END_COLUMN,
];
