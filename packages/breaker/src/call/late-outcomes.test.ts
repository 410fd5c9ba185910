import { describe, expect, test } from "vitest";
import { breakerOnClock } from "../../../../test/support/breaker-on-clock.ts";

describe("calls that end in a later state", () => {
  test("a call that ends while the breaker is open does not count", async () => {
    const { breaker, count } = breakerOnClock();
    const permit = await breaker.admit();
    await count(0, 4);
    await permit.record("success");
    expect(await breaker.snapshot()).toMatchObject({ state: "open", calls: 4 });
  });

  test("a call admitted before opening does not count as a trial call", async () => {
    const { breaker, count, advance } = breakerOnClock({ trialCalls: 1 });
    const permit = await breaker.admit();
    await count(0, 4);
    advance(30_000);
    const trial = await breaker.admit();
    await permit.record("failure");
    expect(await breaker.snapshot()).toMatchObject({ state: "half-open", openings: 1 });
    await trial.record("success");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed" });
  });

  test("a call admitted before opening does not count after closing", async () => {
    const { breaker, count, advance } = breakerOnClock({ trialCalls: 1, minimumCalls: 1 });
    const permits = await Promise.all(Array.from({ length: 5 }, () => breaker.admit()));
    await count(0, 1);
    advance(30_000);
    await (await breaker.admit()).record("success");
    for (const permit of permits) await permit.record("failure");
    expect(await breaker.snapshot()).toMatchObject({ state: "closed", calls: 0 });
    await (await breaker.admit()).record("success");
    expect(await breaker.snapshot()).toMatchObject({ calls: 1 });
  });

  test("a call admitted before a reset does not count after it", async () => {
    const { breaker } = breakerOnClock();
    const permit = await breaker.admit();
    await breaker.reset();
    await permit.record("failure");
    expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
  });

  test.each(["forceOpen", "disable", "metricsOnly"] as const)(
    "a call admitted before %s does not count after it",
    async (order) => {
      const { breaker } = breakerOnClock();
      const permit = await breaker.admit();
      await breaker[order]();
      await permit.record("failure");
      expect(await breaker.snapshot()).toMatchObject({ calls: 0 });
    },
  );

  test("a call counts if the state has not changed, however long it took", async () => {
    const { breaker, advance } = breakerOnClock();
    const permit = await breaker.admit();
    advance(86_400_000);
    await permit.record("failure");
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, failures: 1 });
  });

  test("a call counts although the record of the last closing has expired", async () => {
    const { breaker, advance } = breakerOnClock();
    await breaker.reset();
    const permit = await breaker.admit();
    advance(2 * 86_400_000);
    await breaker.snapshot();
    await permit.record("failure");
    expect(await breaker.snapshot()).toMatchObject({ calls: 1, failures: 1 });
  });
});

test("a trial call that ends in a later half-open period does not count there", async () => {
  const { breaker, count, advance } = breakerOnClock({ trialCalls: 2, trialCallTimeout: "1d" });
  await count(0, 4);
  advance(30_000);
  const [first, second] = [await breaker.admit(), await breaker.admit()];
  await breaker.reset();
  await count(0, 4);
  advance(30_000);
  const [third, fourth] = [await breaker.admit(), await breaker.admit()];
  await first.record("failure");
  await second.record("failure");
  expect(await breaker.snapshot()).toMatchObject({ state: "half-open" });
  await third.record("success");
  await fourth.record("success");
  expect(await breaker.snapshot()).toMatchObject({ state: "closed" });
});
