import type { JSX } from "preact";
import type { Overview } from "../../../../src/api.ts";
import { counted } from "../../format/numbers.ts";
import { SPAN_WORDS } from "../../format/span.ts";
import { Name, Subject, Words } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";

/** The most items of one kind that are listed. */
const MOST = 5;

/** Items that need an operator's attention; nothing if all is well. */
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
  const { mixed, ignoredOverrides, totals, coverage, unread, span } = overview;
  const items: JSX.Element[] = [];
  for (const { name, versions } of mixed.slice(0, MOST)) items.push(mixedItem(name, versions));
  for (const ignored of ignoredOverrides.slice(0, MOST)) items.push(ignoredItem(ignored));
  const more = Math.max(0, mixed.length - MOST) + Math.max(0, ignoredOverrides.length - MOST);
  if (more > 0)
    items.push(
      <>{counted(more, "more policy or override", "more policies and overrides")} of this kind</>,
    );
  if (totals.degraded > 0) {
    items.push(
      <>
        {counted(totals.degraded, "decision was", "decisions were")} made without Redis{" "}
        {SPAN_WORDS[span]}.
      </>,
    );
  }
  if (coverage.silent > 0) {
    items.push(
      <>
        {counted(coverage.silent, "process", "processes")} of {coverage.processes} did not report
        usage in the last minute: the counts here are too low.
      </>,
    );
  }
  if (unread > 0) {
    items.push(
      <>
        {counted(unread, "record", "records")} could not be read, so something may be missing here.
      </>,
    );
  }
  return items;
}

function mixedItem(name: string, versions: number): JSX.Element {
  return (
    <>
      Processes disagree about{" "}
      <a href={hrefOf("limiter", { name })}>
        <Name of={name} />
      </a>
      : it has {versions} different policies.
    </>
  );
}

function ignoredItem({ limiter, subject, why }: Overview["ignoredOverrides"][number]): JSX.Element {
  return (
    <>
      An override of{" "}
      <a href={hrefOf("limiter", { name: limiter })}>
        <Name of={limiter} />
      </a>
      {subject && (
        <>
          {" "}
          for <Subject of={subject} />
        </>
      )}{" "}
      is ignored: <Words of={why} />
    </>
  );
}
