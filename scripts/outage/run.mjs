// Makes the run that docs/images/outage.svg shows: processes on a real Redis call a real upstream, which fails for a while.
import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";
import { setTimeout as delay } from "node:timers/promises";
import { createBreaker } from "@headgate/breaker";
import { redisStore } from "@headgate/core/redis";
import { Redis } from "ioredis";
import { BIN, SETTINGS } from "./settings.mjs";

/** Runs the outage once, and resolves with the record. Times are seconds since the start. */
export async function runOutage(redisUrl) {
  let begin = Number.POSITIVE_INFINITY;
  const since = () => (Date.now() - begin) / 1_000;
  let requests = 0;
  const asked = new Array(Math.ceil(SETTINGS.lasts / BIN)).fill(0);
  const upstream = createServer((_request, response) => {
    requests += 1;
    const now = since();
    asked[Math.floor(now / BIN)] += 1;
    const isDown = now >= SETTINGS.failsFrom && now < SETTINGS.failsUntil;
    response.writeHead(isDown || requests % SETTINGS.oneFailureIn === 0 ? 500 : 200).end();
  });
  upstream.listen(0, "127.0.0.1");
  await once(upstream, "listening");
  const redis = new Redis(redisUrl);
  const breaker = createBreaker({ ...SETTINGS.breaker, store: redisStore(redis) });
  await breaker.reset();

  const url = `http://127.0.0.1:${upstream.address().port}`;
  const fleet = Array.from({ length: SETTINGS.processes }, (_, index) =>
    fork(join(import.meta.dirname, "process.mjs"), [url, redisUrl, String(index)]),
  );
  await Promise.all(fleet.map((child) => once(child, "message")));
  const reports = Promise.all(fleet.map(async (child) => (await once(child, "message"))[0]));
  begin = Date.now() + 100;
  for (const child of fleet) child.send(begin);

  const samples = [];
  while (since() < SETTINGS.lasts) {
    await delay(BIN * 500);
    const { state, calls, successRate } = await breaker.snapshot();
    if (since() >= 0)
      samples.push({ at: round(since()), state, calls, successRate: round(successRate) });
  }
  const processes = await reports;
  await breaker.close();
  redis.disconnect();
  upstream.close();
  const version = /redis_version:(\S+)/.exec(await versionOf(redisUrl))?.[1];
  return { madeWith: `Redis ${version}, Node ${process.versions.node}`, samples, asked, processes };
}

/** To a thousandth; null stays null. */
function round(number) {
  return number === null ? null : Math.round(number * 1_000) / 1_000;
}

async function versionOf(redisUrl) {
  const redis = new Redis(redisUrl);
  const info = await redis.info("server");
  redis.disconnect();
  return info;
}
