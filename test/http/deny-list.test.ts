import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { gcra, memoryStore } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { byHeader, clientOf, createHttpGuard } from "@headgate/core/http";
import { requireStore } from "@headgate/core/internal";
import { redisStore } from "@headgate/core/redis";
import { expect, onTestFinished, test, vi } from "vitest";
import { overridden } from "../support/overriding.ts";
import { waitUntil } from "../support/wait-until.ts";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { SharedOptions } from "./support/framework.ts";
import { uniquePrefix, useRedis } from "./support/redis-client.ts";

const limits = gcra({ limit: 9, window: "1h" });
const HERE = "127.0.0.0/8";
const redis = useRedis();

/** What is published of listed requests until the test ends. */
function hearListed(): unknown[] {
  const heard: unknown[] = [];
  const note = (message: unknown) => void heard.push(message);
  subscribe("headgate:request:listed", note);
  onTestFinished(() => void unsubscribe("headgate:request:listed", note));
  return heard;
}

describeAdapters(({ serve }) => {
  async function serving(options: Partial<SharedOptions> = {}) {
    const clock = { ms: Date.now() };
    const { store, deny } = overridden(requireStore(memoryStore({ clock: () => clock.ms })));
    const site = await serve({ limits: { name: "api", limits, store, ...options } });
    return { ...site, deny, clock, statusOf: async () => (await site.sendRequest()).status };
  }

  test("a client on the operators' deny list gets 403 until it is removed", async () => {
    const heard = hearListed();
    const onDenied = vi.fn();
    const { sendRequest, deny, statusOf } = await serving({ onDenied });
    expect(await statusOf()).toBe(200);
    deny([HERE, null]);
    const response = await sendRequest();
    expect(response.status).toBe(403);
    expect(response.headers).toMatchObject({
      "content-type": "application/problem+json",
      "cache-control": "no-store",
    });
    expect(Object.keys(response.headers).filter((name) => /ratelimit/.test(name))).toEqual([]);
    expect(response.json()).toEqual({ type: "about:blank", title: "Forbidden", status: 403 });
    expect(onDenied).not.toHaveBeenCalled();
    expect(heard).toMatchObject([{ limiter: "api", list: "operatorDenyList" }]);
    deny(["203.0.113.0/24", null]);
    expect(await statusOf()).toBe(200);
    deny();
    expect(await statusOf()).toBe(200);
  });

  test("an entry expires by the server's clock, without another change", async () => {
    const { deny, clock, statusOf } = await serving();
    const end = (clock.ms + 1_000) * 1_000;
    deny(["127.0.0.1", end], ["203.0.113.7", null]);
    expect(await statusOf()).toBe(403);
    clock.ms += 999;
    expect(await statusOf()).toBe(403);
    clock.ms += 1;
    expect(await statusOf()).toBe(200);
  });

  test.each<[string, Partial<SharedOptions>, number]>([
    ["a client on allowList passes", { allowList: ["127.0.0.1"] }, 200],
    ["skip is not asked", { skip: () => true }, 403],
    ["no key is read", { key: byHeader("x-user"), missingKey: "reject" }, 403],
    ["a limiter in shadow refuses too", { shadow: true }, 403],
  ])("%s", async (_, options, status) => {
    const { deny, statusOf } = await serving(options);
    deny(["::ffff:127.0.0.1", null]);
    expect(await statusOf()).toBe(status);
  });

  test("a request that finds the deny list out of date is decided by the new one", async () => {
    const clock = Date.now();
    const { store, deny, age, answer } = overridden(
      requireStore(memoryStore({ clock: () => clock })),
    );
    const { sendRequest } = await serve({ limits: { name: "api", limits, store } });
    age();
    deny([HERE, null]);
    const asked = sendRequest();
    setImmediate(answer);
    expect((await asked).status).toBe(403);
  });
});

test("the operators' deny list applies to every guard on Redis, whatever its limiter counts by", async () => {
  const prefix = uniquePrefix();
  const guard = createHttpGuard("test", {
    name: "api",
    store: requireStore(redisStore(redis, { prefix })),
    limits: gcra({ limit: 1_000_000, window: "1h" }),
    key: byHeader("x-user"),
    storeTimeout: "10s",
  });
  onTestFinished(() => guard.close());
  const check = async () =>
    (
      await guard.check(
        { headers: { "x-user": "ann" } },
        clientOf("203.0.113.7", { socket: {} } as never),
      )
    ).kind;
  expect(await check()).toBe("allowed");
  const admin = createAdmin(requireStore(redisStore(redis, { prefix })));
  const { after, effectiveAt } = await admin.addToDenyList("::ffff:203.0.113.9/120", {
    for: "1h",
    reason: "flood",
    by: "ann",
  });
  expect(after).toMatchObject({ network: "203.0.113.0/24", reason: "flood", by: "ann" });
  await waitUntil("it is refused", 10_000, async () =>
    (await check()) === "refused" ? true : undefined,
  );
  expect(Date.now()).toBeLessThan(effectiveAt.getTime() + 1_000);
  expect(await admin.denyList("203.0.113.255")).toMatchObject([{ network: "203.0.113.0/24" }]);
  expect(await admin.denyList("203.0.114.0")).toEqual([]);
  const removed = await admin.removeFromDenyList("203.0.113.0/24");
  expect(removed).toMatchObject({ before: { by: "ann" }, after: undefined });
  await waitUntil("it is let in", 10_000, async () =>
    (await check()) === "allowed" ? true : undefined,
  );
  expect((await admin.log()).entries).toMatchObject([
    { kind: "removeFromDenyList", network: "203.0.113.0/24" },
    { kind: "addToDenyList", network: "203.0.113.0/24", reason: "flood", by: "ann" },
  ]);
});
