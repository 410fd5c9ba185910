import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { DenyListRow, SubjectLookup, SubjectStatus, SubjectView } from "../../../src/api.ts";
import { pluralize } from "../../../src/counts.ts";
import { formatClient } from "../format/text.ts";
import { StaleContext } from "../page-context.ts";
import { Empty, Notice } from "../parts/panel.tsx";
import { EndTime, LimiterLink, Name, ServerText, ShortEnd } from "../parts/text.tsx";
import { hrefOf, paramsOfLookup } from "../route.ts";
import { DenialCause, StatusPanel } from "./subject-status.tsx";

/** Whether the client is denied, the cause and its end; then the client's state in each limiter. */
export function SubjectResult({
  view,
  lookup,
}: {
  view: SubjectView;
  lookup: SubjectLookup;
}): JSX.Element {
  const { limiters, skipped, denyList, client } = view;
  // What lasts longest comes first: a block of ten minutes, not the window that ends in seconds.
  const sorted = [...limiters].sort((a, b) => rank(a) - rank(b) || (b.until ?? 0) - (a.until ?? 0));
  const versionsOf = (status: SubjectStatus): readonly SubjectStatus[] =>
    limiters.filter((one) => idOf(one) === idOf(status));
  return (
    <>
      <div class="headline" aria-live="polite">
        <Verdict view={view} lookup={lookup} denied={sorted.filter(({ allowed }) => !allowed)} />
      </div>
      {denyList.map((row) => (
        <OnDenyList key={row.id} row={row} />
      ))}
      {limiters.length === 0 && (
        <Empty>
          No limiter counts “<Name value={formatClient(client)} plain />
          ”. Check the spelling; for an API key in a header, choose “Header”. The
          <a href={hrefOf("limiter")}> policy of a limiter</a> shows its dimensions.
        </Empty>
      )}
      {sorted.map((status) => (
        <StatusPanel
          // The same panel wherever it is now: another one would lose the keyboard's focus, and what was opened in it.
          key={`${idOf(status)} ${versionsOf(status).indexOf(status)}`}
          status={status}
          versions={versionsOf(status).length}
        />
      ))}
      {skipped.length > 0 && <Skipped skipped={skipped} />}
    </>
  );
}

/** Equal for the versions of a limiter's policy. A limiter that is used in several ways has several subjects of a client. */
function idOf({ name, subject }: SubjectStatus): string {
  return JSON.stringify([name, subject]);
}

/** Denied first, then denied only in shadow mode, then the rest. */
function rank({ allowed, wouldDeny, limits }: SubjectStatus): number {
  if (!allowed) return 0;
  if (wouldDeny) return 1;
  return limits.some(({ used }) => used > 0) ? 2 : 3;
}

function Verdict({
  view,
  lookup,
  denied,
}: {
  view: SubjectView;
  lookup: SubjectLookup;
  denied: readonly SubjectStatus[];
}): JSX.Element {
  const { client, limiters, denyList } = view;
  const isStale = useContext(StaleContext);
  const is = isStale ? "was" : "is";
  const [first] = denied;
  const others = firstOfEachName(denied).slice(1);
  const count = firstOfEachName(limiters).length;
  const subject = <Name value={formatClient(client)} plain />;
  if (denyList.length > 0) {
    return (
      <h1 class="is-denied">
        {subject} {is} denied by every HTTP limiter: it {is} on the deny list.
      </h1>
    );
  }
  if (first === undefined) {
    return (
      <>
        <h1>
          {subject} {is}{" "}
          {limiters.length === 0 ? "not counted" : isStale ? "allowed" : "allowed now"}
          {lookup.limiter !== undefined && (
            <>
              {" "}
              in <Name value={lookup.limiter} />
            </>
          )}
          .
        </h1>
        {limiters.length > 0 && lookup.limiter === undefined && !isStale && (
          <p>
            The next request that costs one unit passes{" "}
            {count === 1 ? "the limiter" : `all ${count} limiters`} that may count it.
          </p>
        )}
        {lookup.limiter !== undefined && (
          <p>
            Other limiters may deny it.
            {/* The value of a header is in no link. */}
            {lookup.kind !== "header" && (
              <>
                {" "}
                <a href={hrefOf("subject", paramsOfLookup({ ...lookup, limiter: undefined }))}>
                  Look in all
                </a>
              </>
            )}
          </p>
        )}
      </>
    );
  }
  return (
    <>
      <h1 class="is-denied">
        {subject} {is} denied <DenialCause status={first} />
      </h1>
      {others.length > 0 && (
        <p>
          Also denied in {pluralize(others.length, "other limiter")}:{" "}
          {others.map(({ name, until }, i) => (
            <span key={i}>
              {i > 0 && ", "}
              <Name value={name} />
              {until !== undefined && (
                <>
                  {" "}
                  until <ShortEnd at={until} />
                </>
              )}
            </span>
          ))}
          .
        </p>
      )}
    </>
  );
}

/** One status for each limiter, which may have several: one for each version of its policy, and for each way to count. */
function firstOfEachName(all: readonly SubjectStatus[]): readonly SubjectStatus[] {
  return all.filter(({ name }, i) => all.findIndex((one) => one.name === name) === i);
}

function OnDenyList({ row }: { row: DenyListRow }): JSX.Element {
  return (
    <Notice tone="bad">
      <strong>
        <Name value={row.network} /> is on the deny list
      </strong>{" "}
      <EndTime at={row.until} />
      {row.by && (
        <>
          , added by <Name value={row.by} plain />
        </>
      )}
      {row.reason && (
        <>
          : <ServerText text={row.reason} />
        </>
      )}
      . All HTTP limiters respond with 403. <a href={hrefOf("control")}>Deny list</a>
    </Notice>
  );
}

function Skipped({ skipped }: { skipped: SubjectView["skipped"] }): JSX.Element {
  const count = new Set(skipped.map(({ name }) => name)).size;
  // Versions of a policy may count by the same.
  const reasons = new Map(skipped.map((one) => [`${one.name} ${one.countsBy}`, one]));
  return (
    <details class="skipped">
      <summary>
        {pluralize(count, "limiter")} skipped, as {count === 1 ? "it needs" : "they need"} another
        subject
      </summary>
      <ul class="sentences">
        {[...reasons].map(([key, { name, countsBy }]) => (
          <li key={key}>
            <LimiterLink name={name} />: <ServerText text={countsBy} />
          </li>
        ))}
      </ul>
    </details>
  );
}
