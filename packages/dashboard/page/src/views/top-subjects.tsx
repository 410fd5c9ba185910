import { formatShare } from "@headgate/replay/internal";
import type { ComponentChildren, JSX } from "preact";
import { useContext } from "preact/hooks";
import type { LimiterView, Overview, SubjectByDimension, TopSubjectRow } from "../../../src/api.ts";
import { formatCount } from "../../../src/counts.ts";
import { formatSubject, isUnnamedDimension, truncateVisible } from "../format/text.ts";
import { PageContext, subjectDrafts } from "../page-context.ts";
import { Menu } from "../parts/menu.tsx";
import { Badge, Empty, Panel } from "../parts/panel.tsx";
import type { Column } from "../parts/table.tsx";
import { Table } from "../parts/table.tsx";
import { LimiterLink, Name, ShortTime, SubjectLink } from "../parts/text.tsx";

/** Of a limiter in shadow mode, the list of denials is one of requests that would be denied. */
function titleOf(kind: "denied" | "used", { shadow }: LimiterView): string {
  if (kind === "used") return "Most requests";
  return shadow ? "Would be denied most" : "Most denied";
}

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
  const title = titleOf(kind, view);
  const { allowed, denied } = view.topSubjectsTotals;
  const total = kind === "denied" ? denied : allowed + denied;
  const canAct = SUBJECT_ACTIONS.some(([, kind]) => isPermitted(kind));
  return (
    <Panel
      title={title}
      note={
        <>
          Since <ShortTime at={view.topSubjectsFrom} />
          {view.span === "30d" && ", because subjects are kept for a day"}; each count is a lower
          bound.
        </>
      }
    >
      {rows.length === 0 ? (
        <Empty>
          {kind === "denied"
            ? `No subject ${view.shadow ? "would have been" : "was"} denied in this period.`
            : "No subject is listed. Only processes with usage turned on count subjects."}
        </Empty>
      ) : (
        <Table
          label={title}
          columns={columnsOf(view, kind, total)}
          tools={canAct && subjectTools(() => view.name)}
          rows={rows}
          first={10}
          keyOf={({ dimension, subject, hash }) => `${dimension} ${subject ?? hash}`}
        />
      )}
    </Panel>
  );
}

/** The clients that are denied most, across limiters. */
export function DeniedClients({ overview }: { overview: Overview }): JSX.Element | null {
  const { isPermitted } = useContext(PageContext);
  const { denied, deniedFrom, span } = overview;
  if (denied === null) {
    return (
      <Panel title="Most denied clients">
        <Empty>Redis was too slow to list them. They appear here by themselves.</Empty>
      </Panel>
    );
  }
  if (denied.length === 0) return null;
  const canAct = SUBJECT_ACTIONS.some(([, kind]) => isPermitted(kind));
  return (
    <Panel
      title="Most denied clients"
      note={
        <>
          Since <ShortTime at={deniedFrom} />
          {span === "30d" && ", because clients are kept for a day"}, in the limiters that deny
          most; each count is a lower bound.
        </>
      }
    >
      <Table
        label="Most denied clients"
        columns={[
          {
            title: "Client",
            kind: "wide",
            cell: (row) => <TopName row={row} limiter={row.limiter} />,
          },
          { title: "Limiter", cell: ({ limiter }) => <LimiterLink name={limiter} span={span} /> },
          { title: "Denied", kind: "number", sortKey: ({ count }) => count, cell: countCell },
        ]}
        tools={canAct && subjectTools(({ limiter }) => limiter)}
        rows={denied}
        keyOf={({ limiter, dimension, subject, hash }) =>
          `${limiter} ${dimension} ${subject ?? hash}`
        }
      />
    </Panel>
  );
}

/** The actions on a subject in a list; nothing if only its hash is known. */
function subjectTools<Row extends TopSubjectRow>(limiterOf: (row: Row) => string) {
  return (row: Row): ComponentChildren =>
    row.subject !== null && (
      <SubjectTools limiter={limiterOf(row)} subject={{ [row.dimension]: row.subject }} />
    );
}

/** A count that is a lower bound. */
function countCell({ count, maxError }: TopSubjectRow): JSX.Element {
  return (
    <span title={maxError > 0 ? `At most ${formatCount(count + maxError)}` : undefined}>
      {formatCount(count)}
      {maxError > 0 && <span class="quiet">+</span>}
    </span>
  );
}

function columnsOf(
  { name, shadow }: LimiterView,
  kind: "denied" | "used",
  total: number,
): readonly Column<TopSubjectRow>[] {
  return [
    { title: "Subject", kind: "wide", cell: (row) => <TopName row={row} limiter={name} /> },
    {
      title: kind === "used" ? "Requests" : shadow ? "Would be denied" : "Denied",
      kind: "number",
      sortKey: ({ count }) => count,
      cell: countCell,
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
        <SubjectLink subject={subject} limiter={limiter} />
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

/** The actions on a subject of a limiter, in the order of the menu. */
const SUBJECT_ACTIONS = [
  ["Block…", "block"],
  ["Unblock…", "unblock"],
  ["Reset…", "reset"],
  ["Override its limits…", "setOverride"],
  ["Forget…", "forget"],
] as const;

function SubjectTools({
  limiter,
  subject,
}: {
  limiter: string;
  subject: SubjectByDimension;
}): JSX.Element | null {
  const { isPermitted, openDialog } = useContext(PageContext);
  const drafts = subjectDrafts(limiter, subject);
  const items = SUBJECT_ACTIONS.filter(([, kind]) => isPermitted(kind)).map(([title, kind]) => ({
    title,
    run: () => openDialog(drafts[kind]),
  }));
  if (items.length === 0) return null;
  return <Menu label={`Actions on ${truncateVisible(formatSubject(subject), 60)}`} items={items} />;
}
