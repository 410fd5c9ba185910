// Headgate twice in one process, as in a service with a dependency that brings a copy of its own.
import assert from "node:assert/strict";
import { once } from "node:events";
import { createRequire } from "node:module";
import * as ourBreaker from "@headgate/breaker";
import * as ours from "@headgate/core";
import { HeadgateDeniedError } from "@headgate/core/http";
import * as ourRedis from "@headgate/core/redis";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import express from "express";
import Fastify from "fastify";
import { Redis } from "ioredis";

const require = createRequire(new URL("other/index.mjs", import.meta.url));
const theirs = require("@headgate/core");
const otherRedis = require("@headgate/core/redis");
const otherBreaker = require("@headgate/breaker");
const otherExpress = require("@headgate/express");
assert.notEqual(ours.createLimiter, theirs.createLimiter);

const isDuplicate = (error) =>
  error.code === "HEADGATE_DUPLICATE_NAME" && !(error instanceof ours.HeadgateError);
const two = ours.slidingLog({ limit: 2, window: "1h" });
const three = theirs.slidingLog({ limit: 3, window: "1h" });
const five = { limit: 5, window: "1h" };

// One registry of names for a store in memory, whichever copy made it ...
const store = ours.memoryStore();
const first = ours.createLimiter({ name: "api", limits: two, store });
assert.throws(() => theirs.createLimiter({ name: "api", limits: three, store }), isDuplicate);

// ... and for a client, although each copy makes a store of its own on it.
const client = new Redis({ lazyConnect: true });
ours.createLimiter({ name: "api", limits: two, store: ourRedis.redisStore(client) });
const onClient = { name: "api", limits: three, store: otherRedis.redisStore(client) };
assert.throws(() => theirs.createLimiter(onClient), isDuplicate);
client.disconnect();

// The same name with the same policy is one budget; the name is free only when both have closed their limiters.
const second = theirs.createLimiter({ name: "api", limits: two, store });
await first.consume("somebody");
await second.consume("somebody");
assert.equal((await first.consume("somebody")).allowed, false);
await first.close();
assert.throws(() => theirs.createLimiter({ name: "api", limits: three, store }), isDuplicate);
await second.close();
await theirs.createLimiter({ name: "api", limits: three, store }).close();

// One copy refunds the charges of the other, once, and only for the limiter that made them.
const charging = ours.createLimiter({ name: "refunds", limits: two, store });
const twin = theirs.createLimiter({ name: "refunds", limits: two, store });
for (const [maker, giver] of [
  [charging, twin],
  [twin, charging],
]) {
  const decision = await maker.consume("somebody");
  assert.equal((await giver.consume("somebody")).remaining, 0);
  assert.equal(await giver.refund(decision), true);
  assert.equal(await giver.refund(decision), false);
  assert.equal(await maker.refund(decision), false);
  assert.equal((await maker.peek("somebody")).allowed, true);
  await maker.reset("somebody");
}
const stranger = theirs.createLimiter({ name: "stranger", limits: two, store });
const foreign = await charging.consume("somebody");
await assert.rejects(stranger.refund(foreign), { code: "HEADGATE_INVALID_DECISION" });
await assert.rejects(twin.refund({ ...foreign }), { code: "HEADGATE_INVALID_DECISION" });
assert.equal(await twin.refund(foreign), true);

// A limiter that extends one of the other copy gives back for it too, and never the other way round.
const extending = theirs.createLimiter({ name: "longer", limits: three, extends: charging });
assert.equal(await extending.refund(await charging.consume("somebody")), true);
const both = await extending.consume("somebody");
await assert.rejects(charging.refund(both), { code: "HEADGATE_INVALID_DECISION" });
assert.equal(await extending.refund(both), true);

// A limiter of one copy behind adapters of the other; mounted by both copies, it charges once.
const limiter = theirs.createLimiter({ limits: theirs.slidingLog({ limit: 2, window: "1h" }) });
const app = express();
app.use(rateLimit({ limiter, onDenied: "error" }));
app.use(otherExpress.rateLimit({ limiter }));
app.get("/", (req, res) => res.json(req.rateLimit.remaining));
app.use((error, _req, res, _next) => {
  assert(error instanceof HeadgateDeniedError);
  res.status(error.status).json(error.code);
});
const server = app.listen(0, "127.0.0.1");
await once(server, "listening");
const answers = [];
for (let i = 0; i < 3; i++) {
  const answer = await fetch(`http://127.0.0.1:${server.address().port}`);
  answers.push([answer.status, await answer.json()]);
}
assert.deepEqual(answers, [
  [200, 1],
  [200, 0],
  [429, "HEADGATE_DENIED"],
]);
server.closeAllConnections();
server.close();

const fastify = Fastify();
const shared = theirs.createLimiter({ limits: theirs.slidingLog({ limit: 1, window: "1h" }) });
fastify.register(headgate, { limiter: shared });
fastify.get("/", async () => "");
assert.equal((await fastify.inject("/")).statusCode, 200);
assert.equal((await fastify.inject("/")).statusCode, 429);
await fastify.close();

// A breaker is one, whichever copies made it and its store; a limiter may have its name.
for (const [maker, other, { memoryStore }] of [
  [ourBreaker, otherBreaker, ours],
  [otherBreaker, ourBreaker, ours],
]) {
  const shared = memoryStore();
  const guarded = maker.createBreaker({ name: "api", store: shared, minimumCalls: 2 });
  const twinned = other.createBreaker({ name: "api", store: shared, minimumCalls: 2 });
  const otherwise = { name: "api", store: shared, minimumCalls: 3 };
  assert.throws(() => other.createBreaker(otherwise), { code: "HEADGATE_DUPLICATE_NAME" });
  await theirs.createLimiter({ name: "api", limits: three, store: shared }).close();
  await guarded.record("failure");
  await twinned.record("failure");
  for (const one of [guarded, twinned]) {
    await assert.rejects(
      one.run(() => "called"),
      { code: "HEADGATE_BREAKER_OPEN" },
    );
    await one.close();
  }
}

// An outage over a client that both share is one outage: whichever copy finds out, both decide locally, at once.
const unhandled = [];
process.on("unhandledRejection", (error) => unhandled.push(error));
const reject = async () => {
  throw new Error("connect ECONNREFUSED 127.0.0.1:6379");
};
for (const makers of [
  [ours, theirs],
  [theirs, ours],
]) {
  const commands = { evalsha: reject, eval: reject, evalshaBuffer: reject, evalBuffer: reject };
  const away = { ...commands, defineCommand() {} };
  const limiters = makers.map((maker, i) => {
    const { redisStore } = maker === ours ? ourRedis : otherRedis;
    return maker.createLimiter({
      name: `away-${i}`,
      limits: maker.gcra(five),
      store: redisStore(away),
    });
  });
  // A limiter of one copy with a store of the other must behave the same.
  const [first, second] = makers;
  const { redisStore } = first === ours ? ourRedis : otherRedis;
  limiters.push(
    second.createLimiter({ name: "mixed", limits: second.gcra(five), store: redisStore(away) }),
  );
  for (let round = 0; round < 2; round += 1) {
    for (const limiter of limiters) {
      const decision = await limiter.consume("somebody");
      assert.equal(decision.source, "local");
      assert.equal(decision.remaining, 4 - round);
    }
  }
  for (const limiter of limiters) {
    await assert.rejects(limiter.reset("somebody"), { code: "HEADGATE_STORE_UNAVAILABLE" });
    await limiter.close();
  }
}
assert.deepEqual(unhandled, []);

// One copy registers the limiters and breakers of both copies on a client, once, as one process.
const times = globalThis[Symbol.for("@headgate/core/2.state")].get(globalThis).registryIntervals;
const alive = setInterval(() => {}, 1_000);
for (const [first, second] of [
  [ourRedis, otherRedis],
  [otherRedis, ourRedis],
]) {
  times.firstMs = 20;
  const listed = await new Promise((resolve) => {
    const calls = [];
    const receive = (_sha1, _keys, ...args) => {
      calls.push(args.find((arg) => arg.startsWith('{"format"')));
      setTimeout(() => resolve(calls), 100);
      return new Promise(() => {});
    };
    const listing = {
      evalshaBuffer: receive,
      evalBuffer: receive,
      evalsha: receive,
      defineCommand() {},
    };
    ours.createLimiter({ name: "one", limits: ours.gcra(five), store: first.redisStore(listing) });
    theirs.createLimiter({ name: "other", limits: two, store: second.redisStore(listing) });
    const bank = { name: "bank", store: second.redisStore(listing) };
    otherBreaker.createBreaker(bank);
    ourBreaker.createBreaker(bank);
  });
  assert.equal(listed.length, 1);
  assert.equal(JSON.parse(listed[0]).records.length, 3);
}
clearInterval(alive);
