import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { ControlView } from "../../../../src/api.ts";
import { pluralize } from "../../../../src/counts.ts";
import { usePolling } from "../../client/use-polling.ts";
import { PageContext } from "../../page-context.ts";
import { Loading } from "../../parts/loading.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Blocks } from "./blocks.tsx";
import { DenyList } from "./deny-list.tsx";
import { Overrides } from "./overrides.tsx";

/** The blocks, overrides and deny-list entries in force, and their ends. */
export function Control(): JSX.Element {
  const { isPermitted, openDialog } = useContext(PageContext);
  const { data, failure } = usePolling<ControlView>("control", (source, signal) =>
    source.control(signal),
  );
  if (data === undefined) return <Loading title="Blocks and overrides" failure={failure} />;
  const { overrides, blocks, hasAllBlocks, denyList } = data;
  return (
    <>
      <div class="headline">
        <h1>
          {formatBlockCount(blocks.length, hasAllBlocks)}, {pluralize(overrides.length, "override")}{" "}
          and {pluralize(denyList.length, "entry", "entries")} of the deny list in force.
        </h1>
      </div>
      <Panel
        title="Blocks"
        note={
          !hasAllBlocks &&
          "This list may be incomplete: it has the blocks of the latest operator actions. Processes report all blocks if they have this version of Headgate and usage turned on."
        }
      >
        <Blocks blocks={blocks} isKnown={hasAllBlocks} />
      </Panel>
      <Panel title="Overrides">
        <Overrides overrides={overrides} />
      </Panel>
      <Panel
        title="Deny list"
        note="Addresses and networks to which all HTTP limiters of this prefix respond with 403."
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
