import type { ComponentChildren, JSX } from "preact";
import { useContext } from "preact/hooks";
import type { Action, DeniedRow } from "../../../../src/api.ts";
import { formatLength } from "../../format/time.ts";
import { visibleStart } from "../../format/visible.ts";
import { Unknown } from "../../parts/badge.tsx";
import type { Column } from "../../parts/table.tsx";
import { Name, When, Words } from "../../parts/text.tsx";
import { useNow } from "../../parts/use-now.ts";
import { hrefOf } from "../../route.ts";
import { PageContext } from "../../visit.ts";

export const LIMITER: Column<{ readonly limiter: string }> = {
  title: "Limiter",
  by: ({ limiter }) => limiter,
  cell: ({ limiter }) => (
    <a href={hrefOf("limiter", { name: limiter })}>
      <Name of={limiter} />
    </a>
  ),
};

export const SET_BY: Column<Pick<DeniedRow, "by" | "from">> = {
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
};

export const WHY: Column<Pick<DeniedRow, "reason">> = {
  title: "Why",
  kind: "wide",
  cell: ({ reason }) => (reason ? <Words of={reason} /> : <span class="quiet">–</span>),
};

export const ENDS: Column<Pick<DeniedRow, "until">> = {
  title: "Ends",
  by: ({ until }) => until ?? Number.MAX_VALUE,
  cell: ({ until }) => <Ends at={until} />,
};

/** When something ends, with the time left. */
function Ends({ at }: { at: number | null }): JSX.Element {
  const now = useNow();
  if (at === null) return <span class="quiet">when removed</span>;
  if (at <= now) return <span class="quiet">ended</span>;
  return (
    <>
      in {formatLength(at - now)}
      <div class="quiet">
        at <When at={at} />
      </div>
    </>
  );
}

/** Opens the dialog of an action; the label says to screen readers on what. */
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
  const { open } = useContext(PageContext);
  return (
    <button
      type="button"
      aria-label={visibleStart(label, 160)}
      onClick={() => open({ form: "fixed", title, action })}
    >
      {children}
    </button>
  );
}
