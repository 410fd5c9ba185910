import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { gcra } from "../algorithms/gcra.ts";
import { CHANNELS } from "../common/publish.ts";
import { memoryStore } from "../store/memory-store.ts";
import { createLimiter } from "./create-limiter.ts";
import type { PublishedDecision } from "./published-decision.ts";

/** What is published of decisions until the test ends. */
function recordMessages(): PublishedDecision[] {
  const messages: PublishedDecision[] = [];
  const note = (message: unknown) => void messages.push(message as PublishedDecision);
  subscribe(CHANNELS.decision, note);
  onTestFinished(() => void unsubscribe(CHANNELS.decision, note));
  return messages;
}

const once = gcra({ limit: 1, window: "1h" });
const clock = () => 1_000_000;

function limiterOf(limits: Parameters<typeof createLimiter>[0]["limits"]) {
  const limiter = createLimiter({ name: "api", limits, store: memoryStore({ clock }) });
  onTestFinished(() => limiter.close());
  return limiter;
}

describe("consume", () => {
  test("consume publishes each decision once: the object that the caller receives, with exactly these fields", async () => {
    const messages = recordMessages();
    const limiter = limiterOf(once);
    const startedAt = performance.now();
    const decisions = [await limiter.consume("ada"), await limiter.consume("ada")];
    const elapsedMs = performance.now() - startedAt;
    expect(decisions.map(({ allowed }) => allowed)).toEqual([true, false]);
    expect(messages).toEqual(
      decisions.map((decision) => ({
        limiter: "api",
        route: undefined,
        subject: { default: "ada" },
        decision,
        durationMs: expect.any(Number),
        shadow: false,
      })),
    );
    for (const [i, { decision, durationMs }] of messages.entries()) {
      expect(decision).toBe(decisions[i]);
      expect(durationMs).toBeGreaterThan(0);
    }
    const [first, second] = messages as [PublishedDecision, PublishedDecision];
    expect(first.durationMs + second.durationMs).toBeLessThanOrEqual(elapsedMs);
  });

  test("a consume that rejects publishes nothing", async () => {
    const messages = recordMessages();
    const limiter = limiterOf(once);
    await expect(limiter.consume("")).rejects.toMatchObject({ code: "HEADGATE_EMPTY_KEY" });
    await expect(limiter.consume(null as never)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_KEY",
    });
    await expect(limiter.consume("ada", { cost: -1 })).rejects.toThrow();
    expect(messages).toEqual([]);
  });

  test("consume reads no clock if there are no subscribers", async () => {
    const now = vi.spyOn(performance, "now");
    onTestFinished(() => now.mockRestore());
    const limiter = limiterOf(once);
    await limiter.consume("ada");
    expect(now).not.toHaveBeenCalled();
    recordMessages();
    await limiter.consume("ada");
    expect(now).toHaveBeenCalledTimes(2);
  });

  test("a subscriber that throws does not affect consume", async () => {
    const messages = recordMessages();
    const fail = () => {
      throw new Error("a bug");
    };
    subscribe(CHANNELS.decision, fail);
    onTestFinished(() => void unsubscribe(CHANNELS.decision, fail));
    const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
    onTestFinished(() => warn.mockRestore());
    const decision = await limiterOf(once).consume("ada");
    expect(decision.allowed).toBe(true);
    expect(messages).toHaveLength(1);
  });
});

describe("the published subject", () => {
  const byTenant = gcra({ limit: 9, window: "1h", per: "tenant" });
  const byAll = gcra({ limit: 9, window: "1h", per: "global" });

  test.each<[string, Parameters<typeof limiterOf>[0], never, object]>([
    ["a text", once, "ada" as never, { default: "ada" }],
    ["of a named dimension", byTenant, "acme" as never, { tenant: "acme" }],
    [
      "of several dimensions",
      [once, byTenant, byAll],
      { default: "ada", tenant: "acme" } as never,
      { default: "ada", tenant: "acme" },
    ],
    [
      "of the dimensions with a subject",
      [once, byTenant],
      { default: null, tenant: "acme" } as never,
      { tenant: "acme" },
    ],
    ["of all subjects together", byAll, "anyone" as never, { global: "*" }],
    [
      "of a dimension with any name",
      gcra({ limit: 9, window: "1h", per: "__proto__" }),
      "ada" as never,
      JSON.parse('{ "__proto__": "ada" }'),
    ],
  ])(
    "the published subject %s is accepted by the limiter's reset",
    async (_, limits, subject, named) => {
      const messages = recordMessages();
      const limiter = limiterOf(limits);
      await limiter.consume(subject);
      const published = messages[0]?.subject ?? {};
      expect(Object.entries(published)).toEqual(Object.entries(named));
      expect(await limiter.reset(published as never)).toBe(true);
    },
  );
});

test("peek, refund and reset publish nothing", async () => {
  const limiter = limiterOf(once);
  const decision = await limiter.consume("ada");
  const messages = recordMessages();
  await limiter.peek("ada");
  await limiter.refund(decision);
  await limiter.reset("ada");
  expect(messages).toEqual([]);
});

describe("wait", () => {
  test("wait publishes the decision that admitted the call, but no earlier attempt", async () => {
    const messages = recordMessages();
    let now = 1_000_000;
    const store = memoryStore({ clock: () => now });
    const limits = gcra({ limit: 1, window: 5 });
    const limiter = createLimiter({ name: "line", limits, store });
    onTestFinished(() => limiter.close());
    await limiter.consume("ada");
    const waiting = limiter.wait("ada");
    now += 5;
    const decision = await waiting;
    expect(messages).toHaveLength(2);
    expect(messages[1]?.decision).toBe(decision);
    expect(messages[1]).toMatchObject({ limiter: "line", subject: { default: "ada" } });
  });

  test("a wait that times out publishes nothing", async () => {
    const limiter = limiterOf(once);
    await limiter.consume("ada");
    const messages = recordMessages();
    const abort = new AbortController();
    const waiting = limiter.wait("ada", { signal: abort.signal });
    abort.abort(new Error("enough"));
    await expect(waiting).rejects.toThrow("enough");
    expect(messages).toEqual([]);
  });
});
