import { createBreaker } from "@headgate/breaker";
import { describe, expect, test } from "vitest";
import { recordBreakerEvents } from "../support/record-breaker-events.ts";
import { liveMebibytes } from "./memory-use.ts";

const MEBIBYTE = 2 ** 20;

/** A text of its own, not one put together from others, whose parts would be shared. */
function textOf(i: number, length: number): string {
  const bytes = Buffer.alloc(length, "x");
  bytes.write(`${i} `.padStart(6));
  return bytes.toString("latin1");
}

/** Returns the mebibytes that remain in use after calls to so many targets. */
async function keptAfter(targets: number, name: (i: number) => string): Promise<number> {
  const breaker = createBreaker({ minimumCalls: 2 });
  const before = liveMebibytes();
  for (let i = 0; i < targets; i += 1) {
    const one = breaker.for(name(i));
    await one.run(() => i);
    await one.forceOpen();
  }
  const kept = liveMebibytes() - before;
  await breaker.for(name(0)).snapshot();
  await breaker.close();
  return kept;
}

describe("the memory of a breaker's targets", () => {
  test("does not grow with the length of their names", async () => {
    expect(await keptAfter(60, (i) => textOf(i, MEBIBYTE))).toBeLessThan(2);
  });

  test("does not retain the large text that a name was cut from", async () => {
    expect(await keptAfter(60, (i) => textOf(i, MEBIBYTE).slice(0, 40))).toBeLessThan(2);
  });
});

describe("a target with a long name", () => {
  const host = "payments.bank.example/";
  const [long, other] = [host + textOf(1, 1_000), host + textOf(1, 1_001)];

  test("is distinct from another with the same beginning", async () => {
    const breaker = createBreaker();
    await breaker.for(long).forceOpen();
    expect((await breaker.for(long).admit()).allowed).toBe(false);
    expect((await breaker.for(other).admit()).allowed).toBe(true);
    // Nor the one that is called what the long one goes by.
    expect((await breaker.for(breaker.for(long).target).admit()).allowed).toBe(true);
    await breaker.close();
  });

  test("appears in events and errors under one short name with its beginning", async () => {
    const breaker = createBreaker();
    const messages = recordBreakerEvents();
    const { target } = breaker.for(long);
    expect(target).toHaveLength(105);
    expect(target.startsWith(long.slice(0, 60))).toBe(true);
    expect(breaker.for(other).target).not.toBe(target);
    await breaker.for(long).forceOpen();
    await expect(breaker.for(long).run(() => 1)).rejects.toMatchObject({ target });
    expect(messages).toMatchObject([
      ["state", { target }],
      ["rejected", { target }],
    ]);
    await breaker.close();
  });

  test.each([1, 99, 100, 101, 104, 105, 106])(
    "of %i characters counts as one target",
    async (length) => {
      const breaker = createBreaker();
      const name = "💧".repeat(60).slice(0, length);
      await breaker.for(name).forceOpen();
      expect((await breaker.for(name).admit()).allowed).toBe(false);
      expect((await breaker.for(`${name}x`).admit()).allowed).toBe(true);
      if (length <= 100) expect(breaker.for(name).target).toBe(name);
      await breaker.close();
    },
  );
});
