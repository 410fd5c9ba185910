import { formatShare } from "@headgate/replay/internal";
import type { ComponentChildren, JSX } from "preact";
import { useContext, useMemo } from "preact/hooks";
import type { Outage } from "../../../src/api.ts";
import { formatCount } from "../../../src/counts.ts";
import { serverNow, useServerNow } from "../client/server-clock.ts";
import { formatDuration } from "../format/time.ts";
import { PageContext } from "../page-context.ts";
import { Name, ShortTime } from "../parts/text.tsx";

/** What an operator needs to know while Redis does not answer: since when, what requests get meanwhile, and what to do. */
export function RedisAway({ outage }: { outage: Outage }): JSX.Element {
  const { session } = useContext(PageContext);
  const { since, at, servers, isDirect, limiters, listedAt } = outage;
  const now = useServerNow();
  // The clock of the dashboard's process may differ from the server's: a difference is taken on one clock only.
  const receivedAt = useMemo(serverNow, [outage]);
  const durationMs = at - since + Math.max(0, now - receivedAt);
  return (
    <section class="away" aria-label="Redis does not answer">
      <h1>
        {/* Screen readers announce only this: the duration below changes every second. */}
        <span role="alert">Redis does not answer.</span>
      </h1>
      <p>
        <Servers servers={servers} isDirect={isDirect} /> not answered this page for{" "}
        {formatDuration(Math.max(0, durationMs))}, since <ShortTime at={since} />. Processes whose
        connection still works decide as usual.
      </p>
      <h2>Requests to processes without Redis</h2>
      <Meanwhile limiters={limiters} />
      {limiters.length > 0 && (
        <p class="quiet">
          {listedAt === null ? (
            "These are the limiters of the process that serves this page; it has not read those of the others since it started."
          ) : (
            <>
              As listed at <ShortTime at={listedAt} />.
            </>
          )}
        </p>
      )}
      <h2>What to do</h2>
      <ol>
        <li>
          Find out what is wrong, on a machine that reaches Redis:{" "}
          <code class="command">npx @headgate/cli doctor</code>
        </li>
        <li>
          Follow{" "}
          {session.runbook === null ? (
            "the runbook of Headgate, section “Redis is slow”"
          ) : (
            <a href={session.runbook} rel="noreferrer">
              your runbook
            </a>
          )}
          .
        </li>
        <li>
          Repeat actions that failed here once Redis answers. The limits recover by themselves, and
          so does this page.
        </li>
      </ol>
    </section>
  );
}

function Servers({ servers, isDirect }: Pick<Outage, "servers" | "isDirect">): JSX.Element {
  if (servers.length === 0) return <>It has</>;
  const names = servers.map((server, i) => (
    <>
      {i > 0 && ", "}
      <Name value={server} />
    </>
  ));
  if (!isDirect) return <>Redis, found through {names}, has</>;
  return (
    <>
      {names} {servers.length === 1 ? "has" : "have"}
    </>
  );
}

type Limiters = Outage["limiters"];

/** The most names of a group. */
const MAX_NAMES = 8;

/** What the limiters do with requests, in groups of the same behaviour. */
function Meanwhile({ limiters }: { limiters: Limiters }): JSX.Element {
  if (limiters.length === 0) {
    return (
      <p>
        Each limiter decides by its option <code>onUnavailable</code>, and this page does not know
        the limiters yet. By default, each process goes on limiting by itself.
      </p>
    );
  }
  const groups = new Map<string, { names: Set<string>; what: ComponentChildren }>();
  for (const one of limiters) {
    const id = `${one.onUnavailable} ${one.localShare}`;
    const group = groups.get(id) ?? { names: new Set(), what: behaviourOf(one) };
    groups.set(id, group);
    group.names.add(one.name);
  }
  return (
    <ul>
      {[...groups].map(([id, { names, what }]) => (
        <li key={id}>
          <Names names={[...names]} />: {what}
        </li>
      ))}
    </ul>
  );
}

function behaviourOf({ onUnavailable, localShare }: Limiters[number]): ComponentChildren {
  switch (onUnavailable) {
    case "allow":
      return (
        <>
          <strong>all are allowed</strong>, without limits.
        </>
      );
    case "deny":
      return (
        <>
          <strong>all are denied</strong>, with status 503.
        </>
      );
    case "local":
      return (
        <>
          <strong>each process limits by itself</strong>, with{" "}
          {localShare === null || localShare === 1
            ? "the whole of every limit: n processes allow up to n times as much"
            : `${formatShare(localShare, 1)} of every limit`}
          .
        </>
      );
  }
}

function Names({ names }: { names: readonly string[] }): JSX.Element {
  const more = names.length - MAX_NAMES;
  return (
    <>
      {names.slice(0, MAX_NAMES).map((name, i) => (
        <>
          {i > 0 && ", "}
          <Name value={name} />
        </>
      ))}
      {more > 0 && ` and ${formatCount(more)} more`}
    </>
  );
}
