import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { Finding, RedisView } from "../../../src/api.ts";
import { formatCount, pluralize } from "../../../src/counts.ts";
import { usePolling } from "../client/use-polling.ts";
import { formatBytes, truncateVisible } from "../format/text.ts";
import { formatDuration, formatLatency } from "../format/time.ts";
import { PageContext, StaleContext } from "../page-context.ts";
import type { Tone } from "../parts/panel.tsx";
import { Badge, Empty, Loading, Panel } from "../parts/panel.tsx";
import { Name, ServerText } from "../parts/text.tsx";

const LEVELS = ["problem", "warning", "note", "unknown", "ok"] as const;

const TONES: Readonly<Record<Finding["level"], Tone>> = {
  problem: "bad",
  warning: "warn",
  note: "info",
  unknown: "info",
  ok: "good",
};

/** Titles for the server's fields, and the units of their numbers. */
const FACTS: Readonly<Record<string, readonly [title: string, unit?: "bytes" | "seconds"]>> = {
  version: ["Version"],
  mode: ["Mode"],
  role: ["Role"],
  uptimeSeconds: ["Up for", "seconds"],
  clients: ["Connections"],
  memoryBytes: ["Memory in use", "bytes"],
  maxMemoryBytes: ["Memory at most", "bytes"],
  evictionPolicy: ["When memory is full"],
  evictedKeys: ["Evicted keys"],
  commandsPerSecond: ["Commands per second"],
};

function formatFact(value: string | number, unit: "bytes" | "seconds" | undefined): JSX.Element {
  if (typeof value === "string") return <Name value={value} plain />;
  if (unit === "seconds") return <>{formatDuration(value * 1_000)}</>;
  if (unit === "bytes") return <>{value === 0 ? "no limit" : formatBytes(value)}</>;
  return <>{formatCount(value)}</>;
}

/** The doctor's findings on Redis. */
export function RedisFindings(): JSX.Element {
  const { session } = useContext(PageContext);
  const isStale = useContext(StaleContext);
  const { data, failure } = usePolling<RedisView>("redis", (source, signal) =>
    source.redis(signal),
  );
  if (data === undefined) return <Loading title="Redis" failure={failure} />;
  const { findings, server, latencyMs } = data;
  const bad = findings.filter(isBad);
  const rest = findings.filter((finding) => !isBad(finding));
  return (
    <>
      <div class="headline">
        <h1>
          {findings.length > 0
            ? summarise(findings, isStale)
            : `Redis ${isStale ? "answered" : "answers"} in ${formatLatency(latencyMs)}.`}
        </h1>
        {findings.length > 0 && (
          <p>
            Redis {isStale ? "answered" : "answers"} in {formatLatency(latencyMs)} (median).
          </p>
        )}
      </div>
      {bad.length > 0 && <Findings title="Needs attention" findings={bad} />}
      {rest.length > 0 && (
        <Findings title={bad.length > 0 ? "The rest" : "Findings"} findings={rest} />
      )}
      {findings.length === 0 && (
        <Empty>
          {session.hasDoctor
            ? "The checks have not run yet. They appear here by themselves."
            : "The checks of Redis are not enabled on this page. Run them in a shell: npx @headgate/cli doctor."}
        </Empty>
      )}
      <Panel title="Server">
        <dl class="facts">
          {Object.entries(server).map(([name, value]) => (
            <div key={name}>
              <dt>{FACTS[name]?.[0] ?? truncateVisible(name, 60)}</dt>
              <dd>{formatFact(value, FACTS[name]?.[1])}</dd>
            </div>
          ))}
        </dl>
      </Panel>
    </>
  );
}

/** The most important thing that findings say: Redis is in order only if every check could be made. */
function summarise(findings: readonly Finding[], isStale: boolean): string {
  const bad = findings.filter(isBad).length;
  if (bad > 0) return `${pluralize(bad, "finding needs", "findings need")} attention.`;
  const unknown = findings.filter(({ level }) => level === "unknown").length;
  if (unknown > 0) return `${pluralize(unknown, "check")} could not be made.`;
  return isStale ? "Redis was in order." : "Redis is in order.";
}

function isBad({ level }: Finding): boolean {
  return level === "problem" || level === "warning";
}

function Findings({
  title,
  findings,
}: {
  title: string;
  findings: readonly Finding[];
}): JSX.Element {
  const sorted = [...findings].sort((a, b) => LEVELS.indexOf(a.level) - LEVELS.indexOf(b.level));
  return (
    <Panel title={title}>
      <ul class="findings">
        {sorted.map(({ level, title: found, impact, fix, docs }) => (
          <li key={found}>
            <Badge tone={TONES[level]}>{level}</Badge>
            <div>
              <p class={level === "ok" ? "found is-ok" : "found"}>
                <ServerText text={found} />
              </p>
              {impact && (
                <p>
                  <strong>Impact: </strong>
                  <ServerText text={impact} />
                </p>
              )}
              {fix && (
                <p>
                  <strong>Fix: </strong>
                  {fix.split("\n").map((line, i) =>
                    i === 0 ? (
                      <ServerText key={i} text={line} />
                    ) : (
                      <code class="command" key={i}>
                        {truncateVisible(line, 500)}
                      </code>
                    ),
                  )}
                </p>
              )}
              {docs && (
                <p class="quiet">
                  See: <ServerText text={docs} />
                </p>
              )}
            </div>
          </li>
        ))}
      </ul>
    </Panel>
  );
}
