import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { DeniedRow } from "../../../../src/api.ts";
import { Empty } from "../../parts/panel.tsx";
import type { Column } from "../../parts/table.tsx";
import { Table, toolsColumn } from "../../parts/table.tsx";
import { Name } from "../../parts/text.tsx";
import { PageContext } from "../../visit.ts";
import { ActionButton, ENDS, SET_BY, WHY } from "./cells.tsx";

/** The networks that are refused by all limiters. */
export function DenyList({ denied }: { denied: readonly DeniedRow[] }): JSX.Element {
  const { may } = useContext(PageContext);
  if (denied.length === 0) return <Empty>No address is on the deny list.</Empty>;
  const remove = toolsColumn<DeniedRow>(({ network }) => (
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
      columns={may("removeFromDenyList") ? [...COLUMNS, remove] : COLUMNS}
      rows={denied}
      keyOf={({ id }) => id}
    />
  );
}

const COLUMNS: readonly Column<DeniedRow>[] = [
  { title: "Network", by: ({ network }) => network, cell: ({ network }) => <Name of={network} /> },
  SET_BY,
  WHY,
  ENDS,
];
