import { expect, test } from "vitest";
import { gcra } from "../algorithms/gcra.ts";
import { compileLimiterPolicy } from "../policy/compiled-policy.ts";
import { countersOf } from "../policy/counters.ts";
import { memoryStore } from "../store/memory-store.ts";
import { requireStore } from "../store/store.ts";
import { identityOf } from "./counter.ts";

test("no two lists of subjects give the same identities joined by spaces", () => {
  const limit = { limit: 1, window: "1s" } as const;
  const limits = [gcra({ ...limit, per: "ip" }), gcra({ ...limit, per: "user" })];
  const policy = compileLimiterPolicy("api", limits, requireStore(memoryStore()));
  const identities = (ip: string, user: string): string =>
    countersOf(policy, { ip, user }).map(identityOf).join(" ");
  const users = policy.groups.find(({ dimension }) => dimension === "user")?.keySuffix;
  const subjects = [
    ["a", "b"],
    ["a b", "c"],
    ["a", `b ${users}c`],
    [`a ${users}b`, "c"],
    [`a%20${users}b`, "c"],
    [`a%2520${users}b`, "c"],
  ] as const;
  const joined = subjects.map(([ip, user]) => identities(ip, user));
  expect(new Set(joined).size).toBe(subjects.length);
  for (const one of joined) expect(one.split(" ")).toHaveLength(2);
});
