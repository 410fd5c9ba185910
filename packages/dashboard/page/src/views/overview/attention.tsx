import type { JSX } from "preact";
import type { Overview } from "../../../../src/api.ts";
import { pluralize } from "../../../../src/counts.ts";
import { SPAN_PHRASES } from "../../format/span.ts";
import { Name, ServerText, Subject } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";

/** The most items of one kind that are listed. */
const MAX_ITEMS = 5;

/** Items that need an operator's attention; nothing if there are none. */
export function Attention({ overview }: { overview: Overview }): JSX.Element | null {
  const items = itemsOf(overview);
  if (items.length === 0) return null;
  return (
    <section class="attention" aria-label="Needs attention">
      <h2>Needs attention</h2>
      <ul>
        {items.map((item, i) => (
          <li key={i}>{item}</li>
        ))}
      </ul>
    </section>
  );
}

function itemsOf(overview: Overview): readonly JSX.Element[] {
  const { mixedVersions, ignoredOverrides, totals, coverage, unreadable, span } = overview;
  const items: JSX.Element[] = [];
  for (const { name, versions } of mixedVersions.slice(0, MAX_ITEMS))
    items.push(mixedItem(name, versions));
  for (const ignored of ignoredOverrides.slice(0, MAX_ITEMS)) items.push(ignoredItem(ignored));
  const more =
    Math.max(0, mixedVersions.length - MAX_ITEMS) +
    Math.max(0, ignoredOverrides.length - MAX_ITEMS);
  if (more > 0)
    items.push(
      <>{pluralize(more, "more policy or override", "more policies and overrides")} of this kind</>,
    );
  if (totals.degraded > 0) {
    items.push(
      <>
        {pluralize(totals.degraded, "decision was", "decisions were")} made without Redis{" "}
        {SPAN_PHRASES[span]}.
      </>,
    );
  }
  if (coverage.silentProcesses > 0) {
    items.push(
      <>
        {pluralize(coverage.silentProcesses, "process", "processes")} of {coverage.processes} did
        not report usage in the last minute: the counts here are too low.
      </>,
    );
  }
  if (unreadable > 0) {
    items.push(
      <>
        {pluralize(unreadable, "record", "records")} could not be read, so something may be missing
        here.
      </>,
    );
  }
  return items;
}

function mixedItem(name: string, versions: number): JSX.Element {
  return (
    <>
      Processes have different policies of{" "}
      <a href={hrefOf("limiter", { name })}>
        <Name value={name} />
      </a>
      : {versions} versions.
    </>
  );
}

function ignoredItem({ limiter, subject, why }: Overview["ignoredOverrides"][number]): JSX.Element {
  return (
    <>
      An override of{" "}
      <a href={hrefOf("limiter", { name: limiter })}>
        <Name value={limiter} />
      </a>
      {subject && (
        <>
          {" "}
          for <Subject subject={subject} />
        </>
      )}{" "}
      is ignored: <ServerText text={why} />
    </>
  );
}
