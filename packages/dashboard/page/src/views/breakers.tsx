import { formatShare } from "@headgate/replay/internal";
import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { BreakersView, TargetRow } from "../../../src/api.ts";
import { formatCount, pluralize } from "../../../src/counts.ts";
import { usePolling } from "../client/use-polling.ts";
import { DEFAULT_TARGET, truncateVisible } from "../format/text.ts";
import type { PageState } from "../page-context.ts";
import { PageContext, StaleContext } from "../page-context.ts";
import type { MenuItem } from "../parts/menu.tsx";
import { Menu } from "../parts/menu.tsx";
import type { Tone } from "../parts/panel.tsx";
import { Badge, Empty, Loading, Notice, Panel } from "../parts/panel.tsx";
import type { Column } from "../parts/table.tsx";
import { Table } from "../parts/table.tsx";
import { EndTime, Name, ServerText, TimeAgo } from "../parts/text.tsx";

type Breaker = BreakersView["breakers"][number];

/** The breakers and the states of their targets. */
export function Breakers(): JSX.Element {
  const { data, failure } = usePolling<BreakersView>("breakers", (source, signal) =>
    source.breakers(signal),
  );
  if (data === undefined) return <Loading title="Breakers" failure={failure} />;
  return (
    <>
      <BreakersHeadline view={data} />
      {data.unreadable > 0 && (
        <Notice>
          {pluralize(data.unreadable, "record")} could not be read, so a breaker may be missing
          here.
        </Notice>
      )}
      {data.breakers.map((breaker) => (
        <Panel
          key={breaker.name}
          title={truncateVisible(breaker.name, 120)}
          note={<Policy breaker={breaker} />}
        >
          <Targets breaker={breaker} />
        </Panel>
      ))}
    </>
  );
}

function BreakersHeadline({ view: { breakers } }: { view: BreakersView }): JSX.Element {
  const targets = breakers.flatMap((one) => one.targets);
  const open = breakers.flatMap(({ name, targets: own }) =>
    own
      .filter(({ state }) => Object.hasOwn(STATES, state))
      .map(({ target, state }) => ({ name, target, state, isOnly: own.length === 1 })),
  );
  const isKnown = breakers.every(({ hasAllTargets }) => hasAllTargets);
  const isStale = useContext(StaleContext);
  const [first] = open;
  if (breakers.length === 0) {
    return (
      <>
        <h1>No breaker is listed.</h1>
        <Empty>
          A breaker appears here ten seconds after a process has created it with @headgate/breaker
          and a store on this Redis.
        </Empty>
      </>
    );
  }
  return (
    <div class="headline">
      <h1 class={open.length > 0 ? "is-denied" : ""}>
        {first === undefined ? (
          isKnown ? (
            `All targets ${isStale ? "were" : "are"} called normally.`
          ) : (
            `No open breaker ${isStale ? "was" : "is"} known.`
          )
        ) : open.length === 1 ? (
          <>
            <Target {...first} /> {isStale ? "was" : "is"} {formatState(first.state, isStale)}.
          </>
        ) : (
          `${open.length} of ${targets.length} targets ${isStale ? "were" : "are"} not called normally.`
        )}
      </h1>
      {open.length > 1 && (
        <ul class="sentences">
          {open.slice(0, MAX_OPEN).map((one) => (
            <li key={`${one.name} ${one.target}`}>
              <Target {...one} /> {isStale ? "was" : "is"} {formatState(one.state, isStale)}
            </li>
          ))}
          {open.length > MAX_OPEN && <li>and {open.length - MAX_OPEN} more</li>}
        </ul>
      )}
    </div>
  );
}

/** The most targets that the headline lists. */
const MAX_OPEN = 5;

/** A target within a sentence: calls without a target are those of the breaker itself. */
function Target({
  name,
  target,
  isOnly,
}: {
  name: string;
  target: string;
  /** Whether the breaker has no other target. */
  isOnly: boolean;
}): JSX.Element {
  if (target === DEFAULT_TARGET) {
    return (
      <>
        <Name value={name} plain />
        {!isOnly && " (calls without a target)"}
      </>
    );
  }
  return (
    <>
      <Name value={target} plain /> of <Name value={name} plain />
    </>
  );
}

/** Each state in which a target is not called normally, and what that means for calls. */
const STATES: Readonly<Record<string, readonly [state: string, meaning: string]>> = {
  open: ["open", "its calls fail at once"],
  "forced-open": ["forced open by an operator", "its calls fail at once"],
  "half-open": ["half-open", "it gets trial calls only"],
};

function formatState(state: string, isStale: boolean): string {
  const [text = state, meaning = ""] = STATES[state] ?? [];
  return isStale ? text : `${text}: ${meaning}`;
}

function Policy({ breaker: { policy, processes } }: { breaker: Breaker }): JSX.Element {
  return (
    <>
      In {pluralize(processes, "process", "processes")}
      {policy.map((sentence, i) => (
        <span key={sentence}>
          {i === 0 ? ": " : "; or "}
          <ServerText text={sentence} />
        </span>
      ))}
      . {policy.length > 1 && <Badge tone="warn">{policy.length} versions</Badge>}
    </>
  );
}

function Targets({ breaker: { name, targets, hasAllTargets } }: { breaker: Breaker }): JSX.Element {
  const { isPermitted, openDialog } = useContext(PageContext);
  return (
    <>
      {!hasAllTargets && <p class="note">This list may be incomplete.</p>}
      {targets.length === 0 ? (
        <Empty>
          {hasAllTargets
            ? "This breaker has not called any target yet."
            : "The targets are unknown."}
        </Empty>
      ) : (
        <Table
          label={truncateVisible(`Targets of ${name}`, 160)}
          columns={COLUMNS}
          tools={isPermitted("breaker") && (({ target }) => toolsOf(name, target, openDialog))}
          rows={targets}
          keyOf={({ target }) => target}
        />
      )}
    </>
  );
}

const TONES: Readonly<Record<string, Tone>> = {
  closed: "good",
  open: "bad",
  "forced-open": "bad",
  "half-open": "warn",
  disabled: "info",
  "metrics-only": "info",
};

const COLUMNS: readonly Column<TargetRow>[] = [
  {
    title: "Target",
    kind: "wide",
    sortKey: ({ target }) => target,
    cell: ({ target }) => (
      <>
        <Name value={target} />
        {target === DEFAULT_TARGET && <span class="quiet"> calls without a target</span>}
      </>
    ),
  },
  {
    title: "State",
    sortKey: ({ state }) => state,
    cell: ({ state, until }) => (
      <>
        <Badge tone={TONES[state] ?? "plain"}>{truncateVisible(state, 40)}</Badge>
        {until !== undefined && (
          <span class="quiet">
            {" "}
            <EndTime at={until} />
          </span>
        )}
      </>
    ),
  },
  {
    title: "Success",
    kind: "number",
    sortKey: ({ successRate }) => successRate ?? -1,
    cell: ({ successRate }) =>
      successRate === null ? <span class="quiet">no calls</span> : formatShare(successRate, 1),
  },
  {
    title: "Calls",
    kind: "number",
    sortKey: ({ calls }) => calls,
    cell: ({ calls }) => formatCount(calls),
  },
  {
    title: "Last order",
    sortKey: ({ lastOrder }) => lastOrder?.at ?? 0,
    cell: ({ lastOrder }) =>
      lastOrder === undefined ? (
        <span class="quiet">none</span>
      ) : (
        <>
          {truncateVisible(lastOrder.state, 40)}, <TimeAgo at={lastOrder.at} />
          {lastOrder.by !== "" && (
            <span class="quiet">
              {" "}
              by <Name value={lastOrder.by} plain />
            </span>
          )}
        </>
      ),
  },
];

function toolsOf(breaker: string, target: string, open: PageState["openDialog"]): JSX.Element {
  const item = (title: string, order: "open" | "close" | "reset", note: string): MenuItem => ({
    title: `${title}…`,
    run: () =>
      open({ form: "fixed", title, note, action: { kind: "breaker", breaker, target, order } }),
  });
  const items = [
    item("Force open", "open", "Every call of the target fails at once until you reset it."),
    item(
      "Disable",
      "close",
      "Every call is made and none is counted until you reset it, even if all calls fail.",
    ),
    item(
      "Reset",
      "reset",
      "Closes the breaker and erases its measurements. The breaker decides by itself again.",
    ),
  ];
  return <Menu label={`Orders for ${truncateVisible(target, 60)}`} items={items} />;
}
