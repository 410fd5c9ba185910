import { describe, expect, test } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";
import { Ramp } from "./target-tracker.ts";

/** The numbers of the admitted calls, from 1, with the given rest of a ramp of 1,000. */
function admitted(left: number, calls: number): number[] {
  const ramp = new Ramp(1_000);
  return Array.from({ length: calls }, (_, i) => i + 1).filter(() => ramp.tryAdmit(left));
}

describe("Ramp", () => {
  test("a ramp lets one call in ten through at its start, evenly spread", () => {
    const through = admitted(1_000, 1_000);
    expect(through).toHaveLength(100);
    expect(new Set(through.slice(1).map((call, i) => call - (through[i] as number)))).toEqual(
      new Set([10]),
    );
  });

  test.each([
    [900, 190],
    [750, 325],
    [500, 550],
    [250, 775],
    [100, 910],
    [0, 1_000],
  ])("a ramp of 1,000 with %i left lets %i of 1,000 calls through", (left, share) => {
    expect(admitted(left, 1_000)).toHaveLength(share);
    // Evenly: at no time more than one call from its share.
    admitted(left, 1_000).forEach((call, i) => {
      expect(Math.abs((call * share) / 1_000 - (i + 1))).toBeLessThanOrEqual(1);
    });
  });

  test("a ramp lets 55 of 100 calls through over its whole length", () => {
    const ramp = new Ramp(60_000_000);
    let through = 0;
    for (let call = 0; call < 10_000; call += 1) {
      if (ramp.tryAdmit(60_000_000 - call * 6_000)) through += 1;
    }
    expect(through).toBeGreaterThanOrEqual(5_499);
    expect(through).toBeLessThanOrEqual(5_501);
  });
});

/** A breaker that closed a moment ago, with a ramp of a minute. */
async function justClosed() {
  const { breaker, count, advance } = breakerOnClock({ rampUp: "1m" });
  await count(0, 4);
  advance(30_000);
  for (let i = 0; i < 2; i += 1) await (await breaker.admit()).record("success");
  return { breaker, advance };
}

describe("a breaker with a ramp, after closing", () => {
  test("a breaker on a ramp rejects most calls at first, with a retryAfterMs of at most a second", async () => {
    const { breaker, advance } = await justClosed();
    const permits = await Promise.all(Array.from({ length: 100 }, () => breaker.admit()));
    const refused = permits.filter(({ allowed }) => !allowed);
    expect(refused).toHaveLength(90);
    for (const { state, retryAfterMs } of refused) {
      expect([state, retryAfterMs]).toEqual(["closed", 1_000]);
    }
    advance(59_500);
    let last = await breaker.admit();
    for (let i = 0; i < 300 && last.allowed; i += 1) last = await breaker.admit();
    expect(last).toMatchObject({ allowed: false, retryAfterMs: 500 });
  });

  test("calls rejected by a ramp get the fallback and do not count", async () => {
    const { breaker } = await justClosed();
    const answers = new Map<string, number>();
    for (let i = 0; i < 100; i += 1) {
      const answer = await breaker.run(() => "real", { fallback: ({ reason }) => reason });
      answers.set(answer, (answers.get(answer) ?? 0) + 1);
    }
    expect(Object.fromEntries(answers)).toEqual({ real: 10, open: 90 });
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 10, failures: 0 });
  });

  test("a breaker lets every call through at the end of its ramp", async () => {
    const { breaker, advance } = await justClosed();
    advance(60_000);
    for (let i = 0; i < 100; i += 1) expect((await breaker.admit()).allowed).toBe(true);
  });

  test("a breaker on a ramp opens again if the calls it lets through fail", async () => {
    const { breaker } = await justClosed();
    let calls = 0;
    for (let i = 0; i < 100 && calls < 4; i += 1) {
      const permit = await breaker.admit();
      if (!permit.allowed) continue;
      calls += 1;
      await permit.record("failure");
    }
    expect(await breaker.snapshot()).toMatchObject({ state: "open", openings: 1, failures: 4 });
  });
});

test("a breaker without a ramp lets every call through once it has closed", async () => {
  const { breaker, count, advance } = breakerOnClock();
  await count(0, 4);
  advance(30_000);
  for (let i = 0; i < 2; i += 1) await (await breaker.admit()).record("success");
  for (let i = 0; i < 100; i += 1) expect((await breaker.admit()).allowed).toBe(true);
});

test("reset closes a breaker without a ramp", async () => {
  const { breaker, count } = breakerOnClock({ rampUp: "1m" });
  await count(0, 4);
  await breaker.reset();
  for (let i = 0; i < 100; i += 1) expect((await breaker.admit()).allowed).toBe(true);
});
