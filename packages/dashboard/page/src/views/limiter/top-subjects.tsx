import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { LimiterView, TopSubjectRow } from "../../../../src/api.ts";
import { formatCount } from "../../../../src/counts.ts";
import { formatShare } from "../../format/numbers.ts";
import { isUnnamedDimension } from "../../format/subject.ts";
import { PageContext } from "../../page-context.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty, Panel } from "../../parts/panel.tsx";
import type { Column } from "../../parts/table.tsx";
import { Table, toolsColumn } from "../../parts/table.tsx";
import { Name, ShortTime } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";
import { SubjectTools } from "../subject-tools.tsx";

const TITLES = { denied: "Most denied", used: "Most requests" } as const;

/** The subjects with the most denials, or with the most requests. */
export function TopSubjects({
  view,
  kind,
}: {
  view: LimiterView;
  kind: "denied" | "used";
}): JSX.Element {
  const { isPermitted } = useContext(PageContext);
  const rows = view[kind];
  const total = kind === "denied" ? view.totals.denied : view.totals.allowed + view.totals.denied;
  const columns = columnsOf(view, kind, total);
  const canAct = (["block", "reset", "forget", "setOverride"] as const).some(isPermitted);
  return (
    <Panel
      title={TITLES[kind]}
      note={
        <>
          Since <ShortTime at={view.topSubjectsFrom} />; each count is a lower bound.
        </>
      }
    >
      {rows.length === 0 ? (
        <Empty>
          {kind === "denied"
            ? "No subject was denied in this period."
            : "No subject is listed. Only processes with usage turned on count subjects."}
        </Empty>
      ) : (
        <Table
          label={TITLES[kind]}
          columns={canAct ? [...columns, toolsOf(view.name)] : columns}
          rows={rows}
          first={10}
          keyOf={({ dimension, subject, hash }) => `${dimension} ${subject ?? hash}`}
        />
      )}
    </Panel>
  );
}

function columnsOf(
  { name }: LimiterView,
  kind: "denied" | "used",
  total: number,
): readonly Column<TopSubjectRow>[] {
  return [
    { title: "Subject", kind: "wide", cell: (row) => <TopName row={row} limiter={name} /> },
    {
      title: kind === "denied" ? "Denied" : "Requests",
      kind: "number",
      sortKey: ({ count }) => count,
      cell: ({ count, maxError }) => (
        <span title={maxError > 0 ? `At most ${formatCount(count + maxError)}` : undefined}>
          {formatCount(count)}
          {maxError > 0 && <span class="quiet">+</span>}
        </span>
      ),
    },
    {
      title: "Share",
      kind: "number",
      cell: ({ count }) =>
        count <= total ? formatShare(count, total) : <span class="quiet">–</span>,
    },
  ];
}

function TopName({
  row: { subject, hash, dimension },
  limiter,
}: {
  row: TopSubjectRow;
  limiter: string;
}): JSX.Element {
  return (
    <>
      {subject === null ? (
        <>
          <Name value={hash ?? ""} /> <Badge>hash</Badge>
        </>
      ) : (
        <a href={hrefOf("subject", { subject, limiter })}>
          <Name value={subject} />
        </a>
      )}
      {!isUnnamedDimension(dimension) && (
        <span class="quiet">
          {" "}
          <Name value={dimension} plain />
        </span>
      )}
    </>
  );
}

function toolsOf(limiter: string): Column<TopSubjectRow> {
  return toolsColumn(({ subject, dimension }) =>
    subject === null ? null : <SubjectTools limiter={limiter} subject={{ [dimension]: subject }} />,
  );
}
