import { formatShed, readShedding } from "@headgate/replay/internal";
import type { JSX } from "preact";
import type { ProcessSummary } from "../../../src/api.ts";
import { Badge, Empty, Unknown } from "../parts/panel.tsx";
import type { Column } from "../parts/table.tsx";
import { Table } from "../parts/table.tsx";
import { Name, ShortTime, TimeAgo } from "../parts/text.tsx";

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
        No process is listed. A process is listed from ten seconds after it has created a limiter
        until a minute after it was last seen.
      </Empty>
    );
  }
  const columns = [...COLUMNS];
  if (processes.some(({ details }) => readShedding(details) !== undefined))
    columns.push(LOAD_COLUMN);
  if (policyOf) columns.splice(1, 0, policyColumn(policyOf));
  return <Table label="Processes" columns={columns} rows={processes} keyOf={({ id }) => id} />;
}

function policyColumn(policyOf: (id: string) => string | undefined): Column<ProcessSummary> {
  return {
    title: "Policy",
    sortKey: ({ id }) => policyOf(id) ?? "",
    cell: ({ id }) => policyOf(id) ?? <Unknown />,
  };
}

/** Whom a process has shed, and since when. */
const LOAD_COLUMN: Column<ProcessSummary> = {
  title: "Load shedding",
  sortKey: ({ details }) => readShedding(details)?.episode?.until ?? 0,
  cell: ({ details }) => {
    const shedding = readShedding(details);
    if (shedding === undefined) return "no load shedder";
    const { episode } = shedding;
    if (episode === undefined) return "nothing shed";
    return (
      <>
        {!episode.isOver && (
          <Badge tone={episode.dryRun ? "plain" : "warn"}>
            {episode.dryRun ? "would shed" : "sheds"}
          </Badge>
        )}{" "}
        {formatShed(episode)}, from <ShortTime at={episode.from} />
        {episode.isOver && (
          <>
            {" "}
            to <ShortTime at={episode.until} />
            {episode.dryRun && ", in a dry run"}
          </>
        )}
      </>
    );
  },
};

const COLUMNS: readonly Column<ProcessSummary>[] = [
  {
    title: "Process",
    kind: "wide",
    sortKey: ({ host, pid }) => `${host} ${pid}`,
    cell: ({ host, pid, unlistedCount }) => (
      <>
        <Name value={host} /> <span class="quiet">pid {pid}</span>
        {unlistedCount > 0 && <Badge>{unlistedCount} more not listed</Badge>}
      </>
    ),
  },
  {
    title: "Headgate",
    sortKey: ({ version }) => version,
    cell: ({ version }) => <Name value={version} plain />,
  },
  {
    title: "Started",
    sortKey: ({ startedAt }) => startedAt,
    cell: ({ startedAt }) => <ShortTime at={startedAt} />,
  },
  { title: "Seen", sortKey: ({ seenAt }) => seenAt, cell: ({ seenAt }) => <TimeAgo at={seenAt} /> },
  {
    title: "Reported",
    sortKey: ({ reportedAt }) => reportedAt ?? 0,
    cell: ({ reportedAt, isSilent }) => (
      <>
        <TimeAgo at={reportedAt} />
        {isSilent && <Badge tone="warn">silent</Badge>}
      </>
    ),
  },
];
