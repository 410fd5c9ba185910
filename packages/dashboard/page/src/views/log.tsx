import type { JSX } from "preact";
import type { ActionName, LogRow, LogView } from "../../../src/api.ts";
import { pluralize } from "../../../src/counts.ts";
import { usePolling } from "../client/use-polling.ts";
import { DEFAULT_TARGET, formatSubject } from "../format/text.ts";
import { Empty, Loading, Panel } from "../parts/panel.tsx";
import { Name, ServerLines, ServerText, ShortTime, Subject } from "../parts/text.tsx";
import type { Route } from "../route.ts";
import { hrefOf, replaceHash } from "../route.ts";

/** Operators' actions, newest first. */
export function Log({ route }: { route: Route }): JSX.Element {
  const { before, find = "" } = route.params;
  const { data, failure } = usePolling<LogView>(`log ${before ?? ""}`, (source, signal) =>
    source.log(before, signal),
  );
  if (data === undefined) return <Loading title="Operator actions" failure={failure} />;
  const rows = data.rows.filter((row) => textOf(row).includes(find.toLowerCase()));
  return (
    <>
      <h1>Operator actions</h1>
      <Panel
        title={before === undefined ? "Latest actions" : "Earlier actions"}
        tools={
          <input
            type="search"
            aria-label="Show only actions with this text"
            placeholder="Operator or reason"
            value={find}
            onInput={({ currentTarget }) =>
              replaceHash(hrefOf("log", { ...route.params, find: currentTarget.value }))
            }
          />
        }
        note={
          data.unreadable > 0 &&
          `${pluralize(data.unreadable, "entry", "entries")} could not be read, written by another version of Headgate or by another program.`
        }
      >
        {rows.length === 0 ? <NoRows isFiltered={data.rows.length > 0} /> : <Actions rows={rows} />}
        <p class="pages">
          {before !== undefined && <a href={hrefOf("log", { find })}>To the latest</a>}
          {data.next !== null && (
            <a href={hrefOf("log", { before: data.next, find })}>Earlier actions</a>
          )}
        </p>
      </Panel>
    </>
  );
}

function NoRows({ isFiltered }: { isFiltered: boolean }): JSX.Element {
  return (
    <Empty>
      {isFiltered
        ? "No action on this page of the log has this text."
        : "No operator has acted in the last 90 days. Blocks, overrides and orders to breakers appear here, whether they come from this page, from the command or from code."}
    </Empty>
  );
}

function textOf({ kind, limiter, subject, network, by, reason, before, after }: LogRow): string {
  const who = subject === undefined ? "" : formatSubject(subject);
  return [kind, ...(PAST_TENSE[kind] ?? []), limiter, who, network, by, reason, before, after]
    .join(" ")
    .toLowerCase();
}

/** Actions, each with its change. With `isOfOne`, all are on one subject, whose name is left out. */
export function Actions({
  rows,
  isOfOne,
}: {
  rows: readonly LogRow[];
  isOfOne?: boolean;
}): JSX.Element {
  return (
    <ol class="actions">
      {rows.map((row, i) => (
        <li key={`${row.at} ${i}`}>
          <div class="at">
            <ShortTime at={row.at} />
          </div>
          <div class="did">
            <p>
              <strong>
                <Name value={row.by} plain />
              </strong>{" "}
              {PAST_TENSE[row.kind]?.[0] ?? row.kind}
              {!isOfOne && <EntryTarget row={row} />}
              {row.reason && (
                <>
                  : “<ServerText text={row.reason} />”
                </>
              )}
            </p>
            {(row.before ?? row.after) !== undefined && (
              <div class="change">
                <State title="before" text={row.before} />
                <State title="after" text={row.after} />
              </div>
            )}
          </div>
        </li>
      ))}
    </ol>
  );
}

function State({ title, text }: { title: string; text: string | undefined }): JSX.Element {
  return (
    <div>
      <span class="quiet">{title}</span>
      <div>{text ? <ServerLines text={text} /> : "nothing"}</div>
    </div>
  );
}

function EntryTarget({ row }: { row: LogRow }): JSX.Element {
  const { kind, limiter, network } = row;
  const isBreaker = kind === "breaker";
  // An order to a breaker that is used without targets is to the breaker itself.
  const subject = isBreaker && row.subject?.["target"] === DEFAULT_TARGET ? undefined : row.subject;
  const limiterLink = limiter !== undefined && (
    <>
      {" "}
      {subject ? (isBreaker ? "of " : "in ") : ""}
      <a href={isBreaker ? hrefOf("breakers") : hrefOf("limiter", { name: limiter })}>
        <Name value={limiter} />
      </a>
    </>
  );
  const [, of = "", after = ""] = PAST_TENSE[kind] ?? [];
  return (
    <>
      {of && ` ${of}`}
      {network && (
        <>
          {" "}
          <Name value={network} />
        </>
      )}
      {subject && (
        <>
          {" "}
          <Subject subject={subject} />
        </>
      )}
      {limiterLink}
      {after && ` ${after}`}
    </>
  );
}

/** An action in the past tense: a verb, the preposition before its subject, and the rest of the phrase. */
const PAST_TENSE: Readonly<
  Record<ActionName, readonly [verb: string, of?: string, after?: string]>
> = {
  block: ["blocked"],
  unblock: ["unblocked"],
  reset: ["reset"],
  forget: ["forgot"],
  setOverride: ["set an override", "for"],
  unsetOverride: ["removed the override", "for"],
  addToDenyList: ["added", "", "to the deny list"],
  removeFromDenyList: ["removed", "", "from the deny list"],
  breaker: ["gave an order", "to"],
};
