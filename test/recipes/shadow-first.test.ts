import { memoryStore } from "@headgate/core";
import { beforeEach, expect, test } from "vitest";
import { createApp, wouldDeny } from "../../examples/shadow-first/server.ts";
import { serve } from "../support/serve.ts";

beforeEach(() => wouldDeny.clear());

/** Sends the same traffic: a script at 20 requests a second, and a visitor at one, for five seconds. Resolves with who was denied how often, and the headers seen. */
async function sendTraffic(isEnforced: boolean) {
  let now = 1_800_000_000_000;
  const url = await serve(createApp(memoryStore({ clock: () => now }), isEnforced));
  const denied: Record<string, number> = {};
  const limitHeaders = new Set<string>();
  const send = async (client: string): Promise<void> => {
    const answer = await fetch(url, { headers: { "x-client": client } });
    await answer.arrayBuffer();
    if (answer.status === 429) denied[client] = (denied[client] ?? 0) + 1;
    for (const name of answer.headers.keys()) {
      if (name.includes("ratelimit") || name === "retry-after") limitHeaders.add(name);
    }
  };
  for (let step = 0; step < 100; step += 1) {
    await send("script");
    if (step % 20 === 0) await send("visitor");
    now += 50;
  }
  return { denied, limitHeaders };
}

test("in shadow mode no request is denied, and no header is set", async () => {
  const { denied, limitHeaders } = await sendTraffic(false);
  expect(denied).toEqual({});
  expect([...limitHeaders]).toEqual([]);
  // A burst of ten, and one a second after that.
  expect([...wouldDeny]).toEqual([["script", 86]]);
});

test("once enforced, the limit denies the requests that shadow mode reported", async () => {
  await sendTraffic(false);
  const said = Object.fromEntries(wouldDeny);
  wouldDeny.clear();
  const { denied } = await sendTraffic(true);
  expect(denied).toEqual(said);
  expect([...wouldDeny]).toEqual([]);
});
