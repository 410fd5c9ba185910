import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { DeniedRow } from "../../../../src/api.ts";
import { Unknown } from "../../parts/badge.tsx";
import { Empty } from "../../parts/panel.tsx";
import type { Column } from "../../parts/table.tsx";
import { Table } from "../../parts/table.tsx";
import { Name, When } from "../../parts/text.tsx";
import { Visit } from "../../visit.ts";
import { visibleStart } from "../../words/visible.ts";
import { Ends, Why } from "./cells.tsx";

/** The networks that are refused by all limiters. */
export function DenyList({ denied }: { denied: readonly DeniedRow[] }): JSX.Element {
  const { may, open } = useContext(Visit);
  if (denied.length === 0) return <Empty>No address is on the deny list.</Empty>;
  const remove: Column<DeniedRow> = {
    title: "Actions",
    isSilent: true,
    kind: "tools",
    cell: ({ network }) => (
      <button
        type="button"
        aria-label={visibleStart(`Remove ${network} from the deny list`, 160)}
        onClick={() =>
          open({
            form: "fixed",
            title: "Remove from the deny list",
            action: { kind: "removeFromDenyList", network },
          })
        }
      >
        Remove…
      </button>
    ),
  };
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
