import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import { missingKeyProblem, PROBLEM_JSON, toProblem } from "./problem.ts";

describe("the problem body of a denied request", () => {
  const limits = [
    fixedWindow({ limit: 5, window: "1h", name: "hourly" }),
    fixedWindow({ limit: 1, window: "1s", name: "burst" }),
    fixedWindow({ limit: 2, window: "1m", name: 'a "quoted" \\ name' }),
  ];

  test("a problem lists the limits that denied in their order, and no others", async () => {
    const limiter = createLimiter({ name: "a", limits, store: memoryStore({ clock: () => 0 }) });
    await limiter.consume("x");
    expect(toProblem(await limiter.consume("x"))).toEqual({
      type: "https://iana.org/assignments/http-problem-types#quota-exceeded",
      title: "Too Many Requests",
      status: 429,
      "violated-policies": ["burst"],
    });
    const problem = toProblem(await limiter.consume("x", { cost: 5 }));
    expect(problem["violated-policies"]).toEqual(["hourly", "burst", 'a "quoted" \\ name']);
    expect(JSON.parse(JSON.stringify(problem))).toEqual(problem);
  });

  test("a problem does not contain the subject", async () => {
    const limiter = createLimiter({ name: "secret-name", limits, store: memoryStore() });
    const decision = await limiter.consume("secret-subject", { cost: 9 });
    expect(JSON.stringify(toProblem(decision))).not.toContain("secret");
  });
});

test("the problem of a request without its key names the dimension, and is valid JSON for any name", () => {
  const problem = missingKeyProblem('api"Key');
  expect(problem).toMatchObject({ type: "about:blank", title: "Bad Request", status: 400 });
  expect(JSON.parse(JSON.stringify(problem)).detail).toContain('"api"Key"');
});

test("quota and missing-key problems are problem details of RFC 9457", () => {
  expect(PROBLEM_JSON).toBe("application/problem+json");
});
