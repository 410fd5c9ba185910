// One process of the run: calls the upstream through the breaker, and reports how its calls ended.
import { subscribe } from "node:diagnostics_channel";
import { BREAKER_CHANNELS, createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { BIN, SETTINGS } from "./settings.mjs";

const [url, redisUrl, index] = process.argv.slice(2);
const redis = new Redis(redisUrl);
await redis.ping();
const breaker = createBreaker({ ...SETTINGS.breaker, store: redisStore(redis) });
await breaker.snapshot();
process.send("ready");

process.once("message", (begin) => {
  const since = () => (Date.now() - begin) / 1_000;
  const bins = Math.ceil(SETTINGS.lasts / BIN);
  const counts = { answered: [], failed: [], refused: [] };
  for (const list of Object.values(counts)) list.push(...new Array(bins).fill(0));
  const changes = [];
  subscribe(BREAKER_CHANNELS.state, ({ from, to, here, calls, failures, successRate }) => {
    changes.push({
      at: Math.round(since() * 1_000) / 1_000,
      from,
      to,
      here,
      calls,
      failures,
      successRate,
    });
  });

  async function call() {
    const bin = Math.floor(since() / BIN);
    await breaker.run(
      async ({ signal }) => {
        const response = await fetch(url, { signal });
        if (!response.ok) throw new Error(`the upstream answered ${response.status}`);
        counts.answered[bin] += 1;
      },
      {
        timeout: "1s",
        fallback({ reason }) {
          counts[reason === "open" ? "refused" : "failed"][bin] += 1;
        },
      },
    );
  }

  const pause = 1_000 / SETTINGS.callsPerSecond;
  let next = begin + (Number(index) * pause) / SETTINGS.processes;
  const timer = setInterval(() => {
    for (; next <= Date.now() && next < begin + SETTINGS.lasts * 1_000; next += pause) void call();
    if (since() < SETTINGS.lasts + 1) return;
    clearInterval(timer);
    process.send({ ...counts, changes });
    redis.disconnect();
    process.disconnect();
  }, 5);
});
