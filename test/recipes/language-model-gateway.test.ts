import type { Store } from "@headgate/core";
import { memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, test } from "vitest";
import { createMeteredApp } from "../../examples/language-model-gateway/metered.ts";
import { createModel } from "../../examples/language-model-gateway/model.ts";
import { createApp } from "../../examples/language-model-gateway/server.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { serve } from "../support/serve.ts";

useLongStoreTimeout();

const isLong = process.env["HEADGATE_LONG"] === "1";

const redis = useOwnDatabase();

const clock = () => Date.UTC(2030, 0, 1);

/** On Redis, and in memory as well where there is time. */
const STORES: Readonly<Record<string, () => Store>> = {
  ...(isLong && { "in memory": () => memoryStore({ clock }) }),
  "on Redis": () => redisStore(redis, { prefix: `gateway-${Math.random()}`, clock }),
};

interface Usage {
  readonly requests: number;
  readonly tokens: number;
}

interface Gateway {
  /** Requests an answer of so many words. */
  send(key: string, words: number, signal?: AbortSignal): Promise<Response>;
  /** The usage of a key in this minute. */
  usage(key: string): Promise<Usage>;
  /** The usage of the model itself. */
  model(): Promise<Usage>;
}

/** Serves it in front of a model, with counts of its own. */
async function start(store: Store): Promise<Gateway> {
  const model = await serve(createModel());
  const url = await serve(createApp(store, model));
  const as = (key: string) => ({ "x-api-key": key, "content-type": "application/json" });
  return {
    send: (key, words, signal = new AbortController().signal) =>
      fetch(`${url}/answers`, {
        method: "POST",
        headers: as(key),
        body: JSON.stringify({ prompt: `say ${words} words` }),
        signal,
      }),
    usage: async (key) => (await fetch(`${url}/usage`, { headers: as(key) })).json() as never,
    model: async () => (await fetch(model)).json() as never,
  };
}

const PROMPT = 3;
const TYPICAL = 100;

/** An answer is settled after its end. */
const PATIENT = { timeout: 20_000 };

describe.each(Object.entries(STORES))("a language-model gateway, %s", (_, createStore) => {
  test("counts the tokens of a response, fewer or more than the estimate", async () => {
    const { send, usage } = await start(createStore());
    const small = await send("ada-key", 10);
    expect(small.headers.get("ratelimit")).toMatch(/^"requests";r=4;t=\d+, "tokens";r=897;t=\d+$/);
    expect((await small.text()).split(" ")).toHaveLength(11);
    await expect
      .poll(() => usage("ada-key"), PATIENT)
      .toEqual({ requests: 1, tokens: PROMPT + 10 });
    await (await send("grace-key", 400)).text();
    await expect
      .poll(() => usage("grace-key"), PATIENT)
      .toEqual({ requests: 1, tokens: PROMPT + 400 });
  });

  test("limits requests and tokens, and does not call the model for a denied request", async () => {
    const { send, usage, model } = await start(createStore());
    for (let i = 0; i < 5; i += 1) await (await send("ada-key", 1)).text();
    const tooMany = await send("ada-key", 1);
    expect(tooMany.status).toBe(429);
    expect(await tooMany.json()).toMatchObject({ "violated-policies": ["requests"] });
    // More than is left when it turns out; then there is none for the next.
    await (await send("grace-key", 990)).text();
    await expect.poll(() => usage("grace-key"), PATIENT).toEqual({ requests: 1, tokens: 993 });
    const tooMuch = await send("grace-key", 1);
    expect(tooMuch.status).toBe(429);
    expect(await tooMuch.json()).toMatchObject({ "violated-policies": ["tokens"] });
    expect((await usage("grace-key")).requests).toBe(1);
    expect((await send("made-up", 1)).status).toBe(400);
    expect(await model()).toEqual({ requests: 6, tokens: 995 });
  });

  test("charges a client that disconnects for the generated tokens", async () => {
    const { send, usage, model } = await start(createStore());
    const hangUp = new AbortController();
    const answer = await send("linus-key", 100_000, hangUp.signal);
    const reader = answer.body?.getReader();
    let read = 0;
    while (read < 200) read += ((await reader?.read())?.value?.length ?? 0) / "word ".length;
    hangUp.abort();
    const estimate = PROMPT + TYPICAL;
    await expect.poll(async () => (await usage("linus-key")).tokens, PATIENT).not.toBe(estimate);
    const { requests, tokens } = await usage("linus-key");
    expect(requests).toBe(1);
    expect(tokens).toBeGreaterThanOrEqual(PROMPT + read);
    expect(tokens).toBeLessThanOrEqual(PROMPT + (await model()).tokens);
    expect((await model()).tokens).toBeLessThan(100_000);
  });
});

test("a metered gateway stops an answer when the tokens of its customer are gone, and others go on", async () => {
  const store = redisStore(redis, { prefix: "metered", clock });
  const model = await serve(createModel());
  const url = await serve(createMeteredApp(store, model));
  const send = (key: string, words: number) =>
    fetch(`${url}/answers`, {
      method: "POST",
      headers: { "x-api-key": key, "content-type": "application/json" },
      body: JSON.stringify({ prompt: `say ${words} words` }),
    });
  expect((await (await send("ada-key", 300)).text()).split(" ")).toHaveLength(301);
  const answer = await (await send("ada-key", 1_000_000)).text();
  expect(answer).toMatch(/word \[no tokens left\]$/);
  // 700 were left: the meter charges every 50, and the model writes 10 words between two pauses.
  const words = answer.split(" ").length - 3;
  expect(words).toBeGreaterThan(600);
  expect(words).toBeLessThan(2_000);
  const denied = await send("ada-key", 1);
  expect(denied.status).toBe(429);
  expect(Number(denied.headers.get("retry-after"))).toBeGreaterThan(0);
  expect((await (await send("grace-key", 20)).text()).split(" ")).toHaveLength(21);
});
