import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { BlockRow, ControlView, DenyListRow } from "../../../src/api.ts";
import { pluralize } from "../../../src/counts.ts";
import { usePolling } from "../client/use-polling.ts";
import { formatSubject } from "../format/text.ts";
import { PageContext } from "../page-context.ts";
import { ActionButton } from "../parts/menu.tsx";
import { Badge, Empty, Loading, Panel } from "../parts/panel.tsx";
import type { Column } from "../parts/table.tsx";
import { Table } from "../parts/table.tsx";
import { Name, Subject } from "../parts/text.tsx";
import { hrefOf } from "../route.ts";
import {
  END_COLUMN,
  LIMITER_COLUMN,
  Overrides,
  REASON_COLUMN,
  SET_BY_COLUMN,
} from "./overrides.tsx";
import { setterOf } from "./subject-status.tsx";

/** The blocks, overrides and deny-list entries in force, and their ends. */
export function Control(): JSX.Element {
  const { isPermitted } = useContext(PageContext);
  const { data, failure } = usePolling<ControlView>("control", (source, signal) =>
    source.control(signal),
  );
  if (data === undefined) return <Loading title="Blocks and overrides" failure={failure} />;
  const { overrides, blocks, hasAllBlocks, denyList } = data;
  const applied = overrides.filter(({ coverage }) => coverage !== "ignored");
  return (
    <>
      <div class="headline">
        <h1>
          {formatBlockCount(blocks.length, hasAllBlocks)}, {pluralize(applied.length, "override")}{" "}
          and {pluralize(denyList.length, "entry", "entries")} of the deny list in force.
        </h1>
      </div>
      <Panel
        title="Blocks"
        note={
          !hasAllBlocks &&
          "This list may be incomplete: it has the blocks of the latest operator actions. Processes report all blocks if they have this version of Headgate and usage turned on."
        }
      >
        <Blocks blocks={blocks} isKnown={hasAllBlocks} />
      </Panel>
      <Panel title="Overrides">
        <Overrides overrides={overrides} />
      </Panel>
      <Panel
        title="Deny list"
        note="Addresses and networks to which all HTTP limiters of this prefix respond with 403."
        tools={
          isPermitted("addToDenyList") && (
            <ActionButton draft={{ form: "deny" }}>Add an address or network…</ActionButton>
          )
        }
      >
        <DenyList denied={denyList} />
      </Panel>
    </>
  );
}

function formatBlockCount(count: number, isKnown: boolean): string {
  if (isKnown) return pluralize(count, "block");
  return count === 0 ? "An unknown number of blocks" : `At least ${pluralize(count, "block")}`;
}

function Blocks({
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
  const unblock = ({ limiter, subject, hash }: BlockRow) =>
    // A subject can only be unblocked if its text is known.
    hash === undefined && (
      <ActionButton
        label={`Unblock ${formatSubject(subject)} in ${limiter}`}
        draft={{ form: "fixed", title: "Unblock", action: { kind: "unblock", limiter, subject } }}
      >
        Unblock…
      </ActionButton>
    );
  return (
    <Table
      label="Blocks"
      columns={BLOCK_COLUMNS}
      tools={isPermitted("unblock") && unblock}
      rows={blocks}
      keyOf={({ id }) => id}
    />
  );
}

const BLOCK_COLUMNS: readonly Column<BlockRow>[] = [
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
    cell: (row) => {
      if (row.limit !== undefined) {
        return (
          <>
            limit <Name value={row.limit} />
          </>
        );
      }
      return row.by === undefined ? setterOf(row) : <Name value={row.by} plain />;
    },
  },
  REASON_COLUMN,
  END_COLUMN,
];

function DenyList({ denied }: { denied: readonly DenyListRow[] }): JSX.Element {
  const { isPermitted } = useContext(PageContext);
  if (denied.length === 0) return <Empty>No address is on the deny list.</Empty>;
  const remove = ({ network }: DenyListRow) => (
    <ActionButton
      label={`Remove ${network} from the deny list`}
      draft={{
        form: "fixed",
        title: "Remove from the deny list",
        action: { kind: "removeFromDenyList", network },
      }}
    >
      Remove…
    </ActionButton>
  );
  return (
    <Table
      label="Deny list"
      columns={DENIED_COLUMNS}
      tools={isPermitted("removeFromDenyList") && remove}
      rows={denied}
      keyOf={({ id }) => id}
    />
  );
}

const DENIED_COLUMNS: readonly Column<DenyListRow>[] = [
  {
    title: "Network",
    sortKey: ({ network }) => network,
    cell: ({ network }) => <Name value={network} />,
  },
  SET_BY_COLUMN,
  REASON_COLUMN,
  END_COLUMN,
];
