import type { JSX } from "preact";
import type { Overview } from "../../../../src/api.ts";
import { formatCount, formatRate, formatShare, formatShort } from "../../format/numbers.ts";
import { ofMinute } from "../../format/rates.ts";
import { SPAN_WORDS } from "../../format/span.ts";
import { formatMeasured } from "../../format/time.ts";
import { Tile } from "../../parts/tile.tsx";
import { hrefOf } from "../../route.ts";

/** The figures of the fleet. */
export function Figures({ overview }: { overview: Overview }): JSX.Element {
  const { lastMinute, shadow, totals, span, store, inForce } = overview;
  const inShadow = ofMinute(shadow.lastMinute);
  const now = ofMinute(lastMinute);
  return (
    <dl class="tiles">
      <Tile label="Requests now" value={formatRate(now.allowed + now.denied)} unit="/s">
        last minute
      </Tile>
      <Tile
        label="Denied now"
        value={formatRate(now.denied)}
        unit="/s"
        tone={now.denied > 0 ? "denied" : undefined}
      >
        {formatShare(now.denied, now.allowed + now.denied)} of requests
      </Tile>
      {shadow.totals.denied > 0 && (
        <Tile label="In shadow now" value={formatRate(inShadow.denied)} unit="/s">
          would be denied
        </Tile>
      )}
      <Tile
        label="Without Redis"
        value={formatShort(totals.degraded)}
        tone={totals.degraded > 0 ? "degraded" : undefined}
      >
        {SPAN_WORDS[span]}
      </Tile>
      <Tile
        label="Blocks"
        value={inForce.blocksKnown ? formatCount(inForce.blocks) : null}
        href={hrefOf("control")}
      >
        {blocksNote(inForce)}
      </Tile>
      <Tile label="Overrides" value={formatCount(inForce.overrides)} href={hrefOf("control")}>
        in force
      </Tile>
      <Tile label="Deny list" value={formatCount(inForce.denied)} href={hrefOf("control")}>
        {inForce.denied === 1 ? "network" : "networks"}
      </Tile>
      <Tile label="Redis" value={formatMeasured(store.latencyMs)} href={hrefOf("redis")}>
        to answer
      </Tile>
    </dl>
  );
}

function blocksNote({ blocks, blocksKnown }: Overview["inForce"]): string {
  if (blocksKnown) return "in force";
  return blocks === 0 ? "not all are told of" : `at least ${formatCount(blocks)}`;
}
