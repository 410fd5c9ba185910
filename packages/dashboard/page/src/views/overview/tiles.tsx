import type { JSX } from "preact";
import type { Overview } from "../../../../src/api.ts";
import { formatCount } from "../../../../src/counts.ts";
import { formatRate, formatShare, formatShort } from "../../format/numbers.ts";
import { ratesOfMinute } from "../../format/rates.ts";
import { SPAN_PHRASES } from "../../format/span.ts";
import { formatLatency } from "../../format/time.ts";
import { Tile } from "../../parts/tile.tsx";
import { hrefOf } from "../../route.ts";

/** The figures of the fleet. */
export function OverviewTiles({ overview }: { overview: Overview }): JSX.Element {
  const { lastMinute, shadow, totals, span, store, active } = overview;
  const inShadow = ratesOfMinute(shadow.lastMinute);
  const now = ratesOfMinute(lastMinute);
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
        <Tile label="In shadow mode" value={formatRate(inShadow.denied)} unit="/s">
          would be denied
        </Tile>
      )}
      <Tile
        label="Without Redis"
        value={formatShort(totals.degraded)}
        tone={totals.degraded > 0 ? "degraded" : undefined}
      >
        {SPAN_PHRASES[span]}
      </Tile>
      <Tile
        label="Blocks"
        value={active.hasAllBlocks ? formatCount(active.blocks) : null}
        href={hrefOf("control")}
      >
        {blocksNote(active)}
      </Tile>
      <Tile label="Overrides" value={formatCount(active.overrides)} href={hrefOf("control")}>
        in force
      </Tile>
      <Tile label="Deny list" value={formatCount(active.denyListEntries)} href={hrefOf("control")}>
        {active.denyListEntries === 1 ? "network" : "networks"}
      </Tile>
      <Tile label="Redis" value={formatLatency(store.latencyMs)} href={hrefOf("redis")}>
        to answer
      </Tile>
    </dl>
  );
}

function blocksNote({ blocks, hasAllBlocks }: Overview["active"]): string {
  if (hasAllBlocks) return "in force";
  return blocks === 0 ? "not all are known" : `at least ${formatCount(blocks)}`;
}
