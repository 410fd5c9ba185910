import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { ControlView } from "../../../../src/api.ts";
import { usePolled } from "../../client/use-polled.ts";
import { counted } from "../../format/numbers.ts";
import { Loading } from "../../parts/loading.tsx";
import { Panel } from "../../parts/panel.tsx";
import { PageContext } from "../../visit.ts";
import { Blocks } from "./blocks.tsx";
import { DenyList } from "./deny-list.tsx";
import { Overrides } from "./overrides.tsx";

/** Everything that operators and limits have in force, and until when. */
export function Control(): JSX.Element {
  const { may, open } = useContext(PageContext);
  const { data, failure } = usePolled<ControlView>("control", (source, signal) =>
    source.control(signal),
  );
  if (data === undefined) return <Loading title="Blocks and overrides" failure={failure} />;
  const { overrides, blocks, blocksKnown, denied } = data;
  return (
    <>
      <div class="answer">
        <h1>
          {blocksInWords(blocks.length, blocksKnown)}, {counted(overrides.length, "override")} and{" "}
          {counted(denied.length, "entry", "entries")} of the deny list in force.
        </h1>
      </div>
      <Panel
        title="Blocks"
        note={
          !blocksKnown &&
          "Not all blocks are known: these are those of the last orders that still hold. Processes with this version of Headgate and usage turned on tell of all."
        }
      >
        <Blocks blocks={blocks} isKnown={blocksKnown} />
      </Panel>
      <Panel title="Overrides">
        <Overrides overrides={overrides} />
      </Panel>
      <Panel
        title="Deny list"
        note="Addresses and networks that all HTTP limiters of this prefix answer with 403."
        tools={
          may("addToDenyList") && (
            <button type="button" onClick={() => open({ form: "deny" })}>
              Add an address or network…
            </button>
          )
        }
      >
        <DenyList denied={denied} />
      </Panel>
    </>
  );
}

function blocksInWords(count: number, isKnown: boolean): string {
  if (isKnown) return counted(count, "block");
  return count === 0 ? "An unknown number of blocks" : `At least ${counted(count, "block")}`;
}
