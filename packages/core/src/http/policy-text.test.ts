import { expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { internalsOf } from "../limiter/limiter-internals.ts";
import { memoryStore } from "../store/memory-store.ts";
import { preparePolicyText, readHeadersOption } from "./headers.ts";
import { toProblem } from "./problem.ts";
import { toVerdict } from "./rate-limit-response.ts";

const limits = [
  fixedWindow({ limit: 3, window: "1h", name: 'a "quoted" \\ name' }),
  fixedWindow({ limit: 1, window: 500, name: "short" }),
];

test.each([undefined, { legacy: "ratelimit" }, { legacy: "ratelimit", standard: true }] as const)(
  "with headers %j, prepared and formatted policy headers are equal",
  async (option) => {
    const limiter = createLimiter({ name: "a", limits, store: memoryStore({ clock: () => 0 }) });
    const headers = readHeadersOption(option);
    const policyText = preparePolicyText(internalsOf(limiter).policy.limits, headers);
    for (const cost of [1, 1, 4]) {
      const decision = await limiter.consume("x", { cost });
      const written = toVerdict([{ decision, headers, policyText }], 0);
      expect(written).toEqual(toVerdict([{ decision, headers }], 0));
      const body = written.kind === "denied" ? JSON.parse(written.rejection.body) : undefined;
      expect(body).toEqual(decision.allowed ? undefined : toProblem(decision));
    }
  },
);
