import { fixedWindow } from "@headgate/core";
import type { Client } from "@headgate/core/http";
import { createHttpGuard } from "@headgate/core/http";
import { expect, test } from "vitest";
import { useLosableRedis } from "../support/losable-redis.ts";

const redis = useLosableRedis();
const client: Client = { address: "203.0.113.7", peer: "203.0.113.7", isDisconnected: () => false };

test("a good login succeeds while Redis is unavailable, and this process resets the client locally", async () => {
  const store = await redis.openStore();
  const limits = fixedWindow({ limit: 2, window: "1d" });
  const options = {
    name: "login",
    limits,
    store,
    resetDimensions: ["default"],
    storeTimeout: "300ms",
  };
  const guard = createHttpGuard("rateLimit", options);
  const sendRequest = async () => {
    const request = { headers: {} };
    const { kind } = await guard.check(request, client);
    return { kind, request };
  };
  await sendRequest();
  redis.lose();
  await sendRequest();
  const { request } = await sendRequest();
  expect(await sendRequest()).toMatchObject({ kind: "denied" });
  expect(await guard.resetClient(request)).toBe(false);
  expect(await sendRequest()).toMatchObject({ kind: "allowed" });
  await redis.restore();
  const { kind, request: last } = await sendRequest();
  expect(kind).toBe("denied");
  expect(await guard.resetClient(last)).toBe(true);
  expect(await sendRequest()).toMatchObject({ kind: "allowed" });
  await guard.close();
});
