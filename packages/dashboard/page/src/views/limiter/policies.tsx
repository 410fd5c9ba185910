import type { JSX } from "preact";
import type { PolicyView } from "../../../../src/api.ts";
import { Badge } from "../../parts/badge.tsx";
import { Empty, Panel } from "../../parts/panel.tsx";
import { Name, Words } from "../../parts/text.tsx";
import { hrefOf } from "../../route.ts";
import { counted } from "../../words/numbers.ts";
import { visible } from "../../words/visible.ts";

/** The limits in words and as code; if there are several versions, each of them. */
export function Policies({ policies }: { policies: readonly PolicyView[] }): JSX.Element {
  return (
    <Panel title="Limits">
      {policies.length === 0 && (
        <Empty>No process that has this limiter is listed now, so its limits are not known.</Empty>
      )}
      {policies.map((policy, i) => (
        <div class="policy" key={i}>
          {policies.length > 1 && (
            <h3>
              Policy {String.fromCharCode(65 + i)}{" "}
              <span class="quiet">
                in {counted(policy.processes.length, "process", "processes")}
              </span>
            </h3>
          )}
          <Policy policy={policy} label={`Policy ${String.fromCharCode(65 + i)} as code`} />
        </div>
      ))}
    </Panel>
  );
}

function Policy({ policy, label }: { policy: PolicyView; label: string }): JSX.Element {
  return (
    <>
      <ul class="sentences">
        {policy.words.map((sentence) => (
          <li key={sentence}>
            <Words of={sentence} />
          </li>
        ))}
      </ul>
      <p class="note">
        {policy.shadow && <Badge tone="info">written in shadow</Badge>}
        {policy.extends !== undefined && (
          <>
            It extends{" "}
            <a href={hrefOf("limiter", { name: policy.extends })}>
              <Name of={policy.extends} />
            </a>
            .{" "}
          </>
        )}
      </p>
      {policy.uses.map((use) => (
        <p class="note" key={use}>
          Used by <Words of={use} />
        </p>
      ))}
      {policy.code !== "" && <Code of={policy.code} label={label} />}
    </>
  );
}

function Code({ of, label }: { of: string; label: string }): JSX.Element {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reached by keyboard
    <section class="code" tabIndex={0} aria-label={label}>
      <pre>
        <code>{of.split("\n").map(visible).join("\n")}</code>
      </pre>
    </section>
  );
}
