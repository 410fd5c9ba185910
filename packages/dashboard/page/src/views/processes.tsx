import type { JSX } from "preact";
import type { ProcessSummary } from "../../../src/api.ts";
import { Badge, Unknown } from "../parts/badge.tsx";
import { Empty } from "../parts/panel.tsx";
import type { Column } from "../parts/table.tsx";
import { Table } from "../parts/table.tsx";
import { Ago, Name, When } from "../parts/text.tsx";

/** The processes of the fleet, or of one limiter. */
export function Processes({
  processes,
  policyOf,
}: {
  processes: readonly ProcessSummary[];
  /** The policy of each process, if they differ. */
  policyOf?: ((id: string) => string | undefined) | undefined;
}): JSX.Element {
  if (processes.length === 0) {
    return (
      <Empty>
        No process is listed. A process is listed ten seconds after it has made a limiter, and for a
        minute after it was last seen.
      </Empty>
    );
  }
  const columns = [...COLUMNS];
  if (policyOf) columns.splice(1, 0, policyColumn(policyOf));
  return <Table label="Processes" columns={columns} rows={processes} keyOf={({ id }) => id} />;
}

function policyColumn(policyOf: (id: string) => string | undefined): Column<ProcessSummary> {
  return {
    title: "Policy",
    by: ({ id }) => policyOf(id) ?? "",
    cell: ({ id }) => policyOf(id) ?? <Unknown />,
  };
}

const COLUMNS: readonly Column<ProcessSummary>[] = [
  {
    title: "Process",
    kind: "wide",
    by: ({ host, pid }) => `${host} ${pid}`,
    cell: ({ host, pid, more }) => (
      <>
        <Name of={host} /> <span class="quiet">pid {pid}</span>
        {more > 0 && <Badge>{more} more not listed</Badge>}
      </>
    ),
  },
  {
    title: "Headgate",
    by: ({ version }) => version,
    cell: ({ version }) => <Name of={version} plain />,
  },
  {
    title: "Started",
    by: ({ startedAt }) => startedAt,
    cell: ({ startedAt }) => <When at={startedAt} />,
  },
  { title: "Seen", by: ({ seenAt }) => seenAt, cell: ({ seenAt }) => <Ago at={seenAt} /> },
  {
    title: "Reported",
    by: ({ reportedAt }) => reportedAt ?? 0,
    cell: ({ reportedAt, silent }) => (
      <>
        <Ago at={reportedAt} />
        {silent && <Badge tone="warn">silent</Badge>}
      </>
    ),
  },
];
