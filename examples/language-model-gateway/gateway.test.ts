import { describe, expect, inject, test } from "vitest";
import { withServer } from "../run-example.ts";

interface Usage {
  readonly requests: number;
  readonly tokens: number;
}

interface Gateway {
  /** Asks for an answer of so many words. */
  ask(key: string, words: number, signal?: AbortSignal): Promise<Response>;
  /** What a key has used in this minute. */
  usage(key: string): Promise<Usage>;
  /** What the model has been asked. */
  model(): Promise<Usage>;
}

/** Runs it with counts of its own. */
async function withGateway(where: string, use: (gateway: Gateway) => Promise<void>): Promise<void> {
  const prefix = `gateway-${Math.random().toString(36).slice(2)}`;
  const environment =
    where === "on Redis" ? { REDIS_URL: inject("redisSocket"), PREFIX: prefix } : {};
  const run = async (url: string, printed: readonly string[]): Promise<void> => {
    const model = String(/the model is (\S+)/.exec(printed.join("\n"))?.[1]);
    const as = (key: string) => ({ "x-api-key": key, "content-type": "application/json" });
    await use({
      ask: (key, words, signal = new AbortController().signal) =>
        fetch(`${url}/answers`, {
          method: "POST",
          headers: as(key),
          body: JSON.stringify({ prompt: `say ${words} words` }),
          signal,
        }),
      usage: async (key) => (await fetch(`${url}/usage`, { headers: as(key) })).json() as never,
      model: async () => (await fetch(model)).json() as never,
    });
  };
  await withServer("language-model-gateway/server.mjs", run, environment);
}

const PROMPT = 3;
const TYPICAL = 100;

/** An answer is settled after its end. */
const PATIENT = { timeout: 20_000 };

describe.each(["in memory", "on Redis"])("language-model-gateway, %s", (where) => {
  test("counts the tokens of an answer, fewer than the estimate or more", async () => {
    await withGateway(where, async ({ ask, usage }) => {
      const small = await ask("ada-key", 10);
      expect(small.headers.get("ratelimit")).toMatch(
        /^"requests";r=4;t=\d+, "tokens";r=897;t=\d+$/,
      );
      expect((await small.text()).split(" ")).toHaveLength(11);
      await expect
        .poll(() => usage("ada-key"), PATIENT)
        .toEqual({ requests: 1, tokens: PROMPT + 10 });
      await (await ask("grace-key", 400)).text();
      await expect
        .poll(() => usage("grace-key"), PATIENT)
        .toEqual({ requests: 1, tokens: PROMPT + 400 });
    });
  });

  test("holds requests and tokens, and asks the model for nothing that it refuses", async () => {
    await withGateway(where, async ({ ask, usage, model }) => {
      for (let i = 0; i < 5; i += 1) await (await ask("ada-key", 1)).text();
      const tooMany = await ask("ada-key", 1);
      expect(tooMany.status).toBe(429);
      expect(await tooMany.json()).toMatchObject({ "violated-policies": ["requests"] });
      // More than is left when it turns out; then there is none for the next.
      await (await ask("grace-key", 990)).text();
      await expect.poll(() => usage("grace-key"), PATIENT).toEqual({ requests: 1, tokens: 993 });
      const tooMuch = await ask("grace-key", 1);
      expect(tooMuch.status).toBe(429);
      expect(await tooMuch.json()).toMatchObject({ "violated-policies": ["tokens"] });
      expect((await usage("grace-key")).requests).toBe(1);
      expect((await ask("made-up", 1)).status).toBe(400);
      expect(await model()).toEqual({ requests: 6, tokens: 995 });
    });
  });

  test("charges a client that hangs up what was generated", async () => {
    await withGateway(where, async ({ ask, usage, model }) => {
      const hangUp = new AbortController();
      const answer = await ask("linus-key", 100_000, hangUp.signal);
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
});
