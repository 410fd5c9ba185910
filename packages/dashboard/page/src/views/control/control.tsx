import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { ControlView } from "../../../../src/api.ts";
import { usePolling } from "../../client/use-polling.ts";
import { pluralize } from "../../format/numbers.ts";
import { PageContext } from "../../page-context.ts";
import { Loading } from "../../parts/loading.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Blocks } from "./blocks.tsx";
import { DenyList } from "./deny-list.tsx";
import { Overrides } from "./overrides.tsx";

/** Everything that operators and limits have in force, and until when. */
export function Control(): JSX.Element {
  const { isPermitted, openDialog } = useContext(PageContext);
  const { data, failure } = usePolling<ControlView>("control", (source, signal) =>
    source.control(signal),
  );
  if (data === undefined) return <Loading title="Blocks and overrides" failure={failure} />;
  const { overrides, blocks, hasAllBlocks, denyList } = data;
  return (
    <>
      <div class="answer">
        <h1>
          {formatBlockCount(blocks.length, hasAllBlocks)}, {pluralize(overrides.length, "override")}{" "}
          and {pluralize(denyList.length, "entry", "entries")} of the deny list in force.
        </h1>
      </div>
      <Panel
        title="Blocks"
        note={
          !hasAllBlocks &&
          "Not all blocks are known: these are those of the last orders that still hold. Processes with this version of Headgate and usage turned on tell of all."
        }
      >
        <Blocks blocks={blocks} isKnown={hasAllBlocks} />
      </Panel>
      <Panel title="Overrides">
        <Overrides overrides={overrides} />
      </Panel>
      <Panel
        title="Deny list"
        note="Addresses and networks that all HTTP limiters of this prefix answer with 403."
        tools={
          isPermitted("addToDenyList") && (
            <button type="button" onClick={() => openDialog({ form: "deny" })}>
              Add an address or network…
            </button>
          )
        }
      >
        <DenyList denied={denyList} />
      </Panel>
    </>
  );
}

function formatBlockCount(count: number, isKnown: boolean): string {
  if (isKnown) return pluralize(count, "block");
  return count === 0 ? "An unknown number of blocks" : `At least ${pluralize(count, "block")}`;
}
