import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { Limiter } from "@headgate/core";
import { CHANNELS, concurrency, createLimiter, gcra, readPolicy } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { codeIn, page, section, tablesOf } from "./markdown.ts";

/** Returns the names in the first column of a table. */
function listed(path: string, heading: string, at = 0): string[] {
  const rows = tablesOf(section(page(path), heading))[at]?.rows ?? [];
  return rows.flatMap(([first = ""]) => codeIn(first));
}

describe("docs/reference/limits.md", () => {
  const path = "docs/reference/limits.md";
  const algorithms = listed(path, "Builders").map((code) => code.split("(")[0] as string);

  test("lists each algorithm", () => {
    const message = messageOf(() => readPolicy({ algorithm: "none" }));
    const known = /one of (.+); got/.exec(message)?.[1]?.split(", ");
    expect(new Set(algorithms)).toEqual(new Set(known));
  });

  test("lists exactly the options of the algorithms", () => {
    const taken = algorithms.flatMap((algorithm) => {
      const message = messageOf(() => readPolicy({ algorithm, noSuchOption: 1 }));
      return /it takes (.+)$/.exec(message)?.[1]?.split(", ") ?? [];
    });
    expect(new Set(listed(path, "Builders", 1))).toEqual(new Set(taken));
  });
});

describe("docs/reference/limiter.md", () => {
  const path = "docs/reference/limiter.md";

  test("lists each field of a decision", async () => {
    const limiter = createLimiter({ limits: concurrency({ limit: 1, ttl: "1m" }) });
    const decision = await limiter.consume("ada", { upTo: 1 });
    // `signal` is not enumerable.
    expect(decision.signal).toBeInstanceOf(AbortSignal);
    expect(listed(path, "Decisions").sort()).toEqual([...Object.keys(decision), "signal"].sort());
    await limiter.close();
  });

  test("lists the fields of each limit", async () => {
    const limiter = createLimiter({ limits: gcra({ limit: 1, window: "1m" }) });
    const { limits, ...decision } = await limiter.consume("ada");
    const own = Object.keys(limits[0] ?? {}).filter((name) => !Object.hasOwn(decision, name));
    expect(listed(path, "Decisions", 1).sort()).toEqual(own.sort());
    await limiter.close();
  });
});

test("docs/reference/limiter.md lists only existing methods", () => {
  const limiter = createLimiter({ limits: gcra({ limit: 1, window: "1m" }) });
  const calls = listed("docs/reference/limiter.md", "Calls")
    .filter((code) => code.includes("("))
    .map((code) => code.split("(")[0]);
  for (const call of calls) {
    expect(limiter[call as keyof Limiter], call).toBeTypeOf("function");
  }
  expect(calls.length).toBeGreaterThan(10);
});

test("docs/reference/events.md lists each field of a published decision", async () => {
  let published: object = {};
  const listen = (message: unknown): void => {
    published = message as object;
  };
  subscribe(CHANNELS.decision, listen);
  await createLimiter({ limits: gcra({ limit: 1, window: "1m" }) }).consume("ada");
  unsubscribe(CHANNELS.decision, listen);
  const known = listed("docs/reference/events.md", "Decisions");
  // Present only if onDenied allowed a denied request.
  expect([...Object.keys(published), "allowedByOnDenied"].sort()).toEqual(
    expect.arrayContaining(known.filter((name) => name !== "allowedByOnDenied").sort()),
  );
  for (const field of Object.keys(published)) expect(known).toContain(field);
});

function messageOf(make: () => unknown): string {
  try {
    make();
  } catch (error) {
    return (error as Error).message;
  }
  throw new Error("it threw nothing");
}
