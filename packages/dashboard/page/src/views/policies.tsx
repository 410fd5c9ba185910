import { escapeHidden } from "@headgate/replay/internal";
import type { JSX } from "preact";
import type { LimiterView, PolicyView } from "../../../src/api.ts";
import { pluralize } from "../../../src/counts.ts";
import { Badge, Empty, Panel } from "../parts/panel.tsx";
import { LimiterLink, Name, ServerText, ShortTime } from "../parts/text.tsx";

/** The limits as text and as code, for each version of the policy. */
export function Policies({
  policies,
  versionNotes,
  processes,
}: Pick<LimiterView, "policies" | "versionNotes" | "processes">): JSX.Element {
  return (
    <Panel title="Limits">
      {policies.length === 0 && (
        <Empty>No process with this limiter is listed now, so its limits are unknown.</Empty>
      )}
      {versionNotes.map((note) => (
        <p class="note" key={note}>
          {note}
        </p>
      ))}
      {policies.map((policy, i) => (
        <div class="policy" key={i}>
          {policies.length > 1 && (
            <>
              <h3>
                Version {String.fromCharCode(65 + i)}{" "}
                <span class="quiet">
                  in {pluralize(policy.processes.length, "process", "processes")}
                </span>
              </h3>
              <PolicyProcesses
                processes={processes.filter(({ id }) => policy.processes.includes(id))}
              />
            </>
          )}
          <Policy policy={policy} label={`Version ${String.fromCharCode(65 + i)} as code`} />
        </div>
      ))}
    </Panel>
  );
}

/** The maximum number of processes that are named; the table at the end of the view has all. */
const MAX_NAMED = 3;

/** The processes with a version of the policy and their start times: the older ones may still wait for a deploy. */
function PolicyProcesses({ processes }: { processes: LimiterView["processes"] }): JSX.Element {
  return (
    <p class="note">
      {processes.slice(0, MAX_NAMED).map(({ id, host, pid, startedAt }, i) => (
        <span key={id}>
          {i > 0 && "; "}
          <Name value={host} /> pid {pid}, started <ShortTime at={startedAt} />
        </span>
      ))}
      {processes.length > MAX_NAMED && `; and ${processes.length - MAX_NAMED} more`}
    </p>
  );
}

function Policy({ policy, label }: { policy: PolicyView; label: string }): JSX.Element {
  return (
    <>
      <ul class="sentences">
        {policy.limits.map((sentence) => (
          <li key={sentence}>
            <ServerText text={sentence} />
          </li>
        ))}
      </ul>
      <p class="note">
        {policy.shadow && <Badge tone="info">created in shadow mode</Badge>}
        {policy.extends !== undefined && (
          <>
            It extends <LimiterLink name={policy.extends} />.{" "}
          </>
        )}
      </p>
      {policy.uses.map((use) => (
        <p class="note" key={use}>
          Used by <ServerText text={use} />
        </p>
      ))}
      {policy.code !== "" && <Code code={policy.code} label={label} />}
    </>
  );
}

function Code({ code, label }: { code: string; label: string }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a scrolling region must have keyboard focus
    <section class="code" tabIndex={0} aria-label={label}>
      <pre>
        <code>{code.split("\n").map(escapeHidden).join("\n")}</code>
      </pre>
    </section>
  );
}
