import type { Check } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

const MEND =
  "look at the network between, at slow commands, and at the load of both machines; or give the limiters a longer storeTimeout";

export const latency: Check = {
  name: "latency",
  ...eachServer(({ latencies, decides }, { storeTimeout }) =>
    ifKnown(latencies, (all) => {
      const [p50, p99] = [shareOf(all, 0.5), shareOf(all, 0.99)];
      const found = `${all.length} calls, p50 ${format(p50)}, p99 ${format(p99)}; limiters wait ${storeTimeout} ms`;
      // Nobody waits for a replica.
      if (!decides || p99 < storeTimeout / 2) return { status: "ok", found };
      if (p50 >= storeTimeout) {
        const means = "most decisions are taken without Redis";
        return { status: "problem", found, means, mend: MEND };
      }
      if (p99 >= storeTimeout) {
        const means = "some decisions are taken without Redis";
        return { status: "warning", found, means, mend: MEND };
      }
      const means = "a worse moment, and decisions are taken without Redis";
      return { status: "note", found, means, mend: MEND };
    }),
  ),
};

/** What a share of the values does not exceed. They are in ascending order. */
function shareOf(values: readonly number[], share: number): number {
  return values[Math.max(0, Math.ceil(values.length * share) - 1)] ?? 0;
}

function format(milliseconds: number): string {
  return `${milliseconds < 10 ? milliseconds.toFixed(2) : Math.round(milliseconds)} ms`;
}
