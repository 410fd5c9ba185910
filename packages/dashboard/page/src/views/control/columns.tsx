import type { ComponentChildren, JSX } from "preact";
import { useContext } from "preact/hooks";
import type { Action, DenyListRow } from "../../../../src/api.ts";
import { formatDuration } from "../../format/time.ts";
import { truncateVisible } from "../../format/visible.ts";
import { PageContext } from "../../page-context.ts";
import { Unknown } from "../../parts/badge.tsx";
import type { Column } from "../../parts/table.tsx";
import { Name, ServerText, ShortTime } from "../../parts/text.tsx";
import { useServerNow } from "../../parts/use-now.ts";
import { hrefOf } from "../../route.ts";

export const LIMITER_COLUMN: Column<{ readonly limiter: string }> = {
  title: "Limiter",
  sortKey: ({ limiter }) => limiter,
  cell: ({ limiter }) => (
    <a href={hrefOf("limiter", { name: limiter })}>
      <Name value={limiter} />
    </a>
  ),
};

export const SET_BY_COLUMN: Column<Pick<DenyListRow, "by" | "from">> = {
  title: "Set by",
  sortKey: ({ by }) => by ?? "",
  cell: ({ by, from }) => (
    <>
      {by === undefined ? <Unknown /> : <Name value={by} plain />}
      <div class="quiet">
        <ShortTime at={from} />
      </div>
    </>
  ),
};

export const REASON_COLUMN: Column<Pick<DenyListRow, "reason">> = {
  title: "Why",
  kind: "wide",
  cell: ({ reason }) => (reason ? <ServerText text={reason} /> : <span class="quiet">–</span>),
};

export const END_COLUMN: Column<Pick<DenyListRow, "until">> = {
  title: "Ends",
  sortKey: ({ until }) => until ?? Number.MAX_VALUE,
  cell: ({ until }) => <EndCell at={until} />,
};

/** When something ends, with the time left. */
function EndCell({ at }: { at: number | null }): JSX.Element {
  const now = useServerNow();
  if (at === null) return <span class="quiet">when removed</span>;
  if (at <= now) return <span class="quiet">ended</span>;
  return (
    <>
      in {formatDuration(at - now)}
      <div class="quiet">
        at <ShortTime at={at} />
      </div>
    </>
  );
}

/** A button that opens the dialog of an action. The label tells screen readers the object of the action. */
export function ActionButton({
  label,
  title,
  action,
  children,
}: {
  label: string;
  /** Of the dialog. */
  title: string;
  action: Action;
  children: ComponentChildren;
}): JSX.Element {
  const { openDialog } = useContext(PageContext);
  return (
    <button
      type="button"
      aria-label={truncateVisible(label, 160)}
      onClick={() => openDialog({ form: "fixed", title, action })}
    >
      {children}
    </button>
  );
}
