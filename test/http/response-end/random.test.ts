import { once } from "node:events";
import type { ClientHttp2Stream } from "node:http2";
import { connect as connectHttp2 } from "node:http2";
import type { Socket } from "node:net";
import { connect } from "node:net";
import { PassThrough } from "node:stream";
import { setTimeout as delay, setImmediate as turn } from "node:timers/promises";
import type { Decision, Limiter } from "@headgate/core";
import { concurrency, createLimiter, fixedWindow, memoryStore } from "@headgate/core";
import { internalsOf } from "@headgate/core/internal";
import { describe, expect, test } from "vitest";
import { Random } from "../../conformance/random/random.ts";
import { eventually } from "../support/eventually.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import type { Handled } from "./frameworks.ts";
import { FRAMEWORKS } from "./frameworks.ts";

const isLong = process.env["HEADGATE_LONG"] === "1";

/** On each framework: 10,000 in all in the long run. */
const REQUESTS = isLong ? 2_500 : 250;
const SEED = 23;
const SLOTS = 24;

/** Milliseconds. On the real clock: renewals are what would hold a slot for ever. */
const TTL = 300;

/** What a handler does with its response. */
const WAYS = ["at once", "later", "piped", "large", "broken", "never", "when it left"] as const;

/** What a client does once its requests are sent. */
const FATES = ["stays", "resets", "closes", "ends", "stops reading"] as const;

async function pass(random: Random): Promise<void> {
  if (random.chance(0.2)) await delay(random.whole(1, 20));
  else for (let i = random.whole(0, 10); i > 0; i -= 1) await turn();
}

/** Answers as the path says. */
async function handle(
  { request, response, own }: Handled,
  path: string,
  random: Random,
): Promise<void> {
  const [, , way, status] = path.split("/");
  response.statusCode = Number(status);
  request.on("error", () => {});
  if (random.chance(0.5)) request.resume();
  if (way === "later") await pass(random);
  if (way === "never") return;
  if (way === "when-it-left") {
    const signal = own?.decision.signal;
    if (signal !== undefined && !signal.aborted) await once(signal, "abort");
  }
  if (way === "broken") response.destroy();
  else if (way === "piped") new PassThrough().end("a pipe").pipe(response);
  else endWith(response, way === "large" ? Buffer.alloc(1 << 18) : "done");
}

/** Node 20.19 throws for a stream of HTTP/2 whose client has left; later versions ignore it. */
function endWith(response: Handled["response"], body: string | Buffer): void {
  try {
    response.end(body);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_HTTP2_INVALID_STREAM") throw error;
  }
}

function pathOf(random: Random): string {
  if (random.chance(0.15)) return `/free/${random.pick(["later", "never"])}/200`;
  const way = random.pick(WAYS).replaceAll(" ", "-");
  return `/limited/${way}/${random.pick([200, 401])}`;
}

/**
 * Nothing large behind an answer that never comes: Node would stop reading the connection, and never learn that its client
 * left. An answer that waits for that is ended by its slot, which is not renewed then.
 */
function withoutHidden(paths: readonly string[]): readonly string[] {
  const never = paths.findIndex((path) => path.includes("/never/"));
  return paths.map((path, i) =>
    never !== -1 && i > never ? path.replace("/large/", "/at-once/") : path,
  );
}

/** Sends pipelined requests on a connection of its own. */
async function pipeline(port: number, given: readonly string[], random: Random): Promise<void> {
  const paths = withoutHidden(given);
  const socket = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
  socket.on("error", () => {});
  await once(socket, "connect");
  socket.resume();
  socket.write(paths.map((path) => `GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`).join(""));
  await pass(random);
  const fate = random.pick(FATES);
  if (fate === "resets") socket.resetAndDestroy();
  else if (fate === "closes") socket.destroy();
  else if (fate === "ends") socket.end();
  else if (fate === "stops reading") socket.pause().end();
  await delay(random.whole(1, 60));
  socket.destroy();
}

/** Sends the same as streams of a session of its own. */
async function multiplex(port: number, paths: readonly string[], random: Random): Promise<void> {
  const socket: Socket = connect(port, "127.0.0.1");
  const session = connectHttp2(`http://127.0.0.1:${port}`, { createConnection: () => socket });
  session.on("error", () => {});
  await once(session, "connect");
  const streams: ClientHttp2Stream[] = paths.map((path) => {
    const method = random.pick(["GET", "HEAD", "POST"]);
    const stream = session.request({ ":path": path, ":method": method });
    stream.on("error", () => {});
    if (method === "POST") stream.write("a part of it");
    return random.chance(0.8) ? stream.resume() : stream;
  });
  await pass(random);
  for (const stream of streams) {
    if (random.chance(0.3)) stream.close(random.pick([0, 2, 8]));
  }
  await delay(random.whole(1, 60));
  if (random.chance(0.3)) session.destroy();
  else socket.resetAndDestroy();
}

/** Notes the decisions of a limiter that are settled, once for each time. */
function watchSettled(limiter: Limiter): Decision[] {
  const settled: Decision[] = [];
  const { chargeMethods } = internalsOf(limiter);
  const { settle } = chargeMethods;
  Object.assign(chargeMethods, {
    settle(decision: Decision, units: number) {
      settled.push(decision);
      return settle(decision, units);
    },
  });
  return settled;
}

describe.each(FRAMEWORKS)("$name over $protocol", ({ protocol, serve }) => {
  test("with any order of events, each charge is settled once, and each slot is free within its ttl", async () => {
    const expectNothingUnhandled = watchUnhandled();
    const random = new Random(SEED);
    const limiter = createLimiter({
      name: "anything",
      limits: [
        concurrency({ limit: SLOTS, ttl: TTL }),
        fixedWindow({ limit: 1_000_000, window: "1h", name: "hourly", block: "1m" }),
      ],
      blockOn: "settle",
      store: memoryStore(),
    });
    const settled = watchSettled(limiter);
    const admitted: Handled[] = [];
    const port = await serve({
      limiter,
      count: "failed",
      handle(handled) {
        if (handled.own?.decision.allowed) admitted.push(handled);
        const { originalUrl, url } = handled.request as { originalUrl?: string; url?: string };
        void handle(handled, originalUrl ?? url ?? "", random);
      },
    });
    const visit = protocol === "HTTP/2" ? multiplex : pipeline;
    for (let sent = 0; sent < REQUESTS; ) {
      const visits = Array.from({ length: 8 }, () => {
        const paths = Array.from({ length: random.whole(1, 8) }, () => pathOf(random));
        sent += paths.length;
        return visit(port, paths, random);
      });
      await Promise.all(visits);
    }
    expect(admitted.length).toBeGreaterThan(REQUESTS / 8);
    await eventually(() => expect(settled).toHaveLength(admitted.length));
    await eventually(async () => {
      const { limits } = await limiter.peek("everybody", { cost: 0 });
      expect(limits[0]?.remaining).toBe(SLOTS);
    });
    await expectNothingUnhandled();
    const decisions = admitted.map(({ own }) => own?.decision);
    expect(new Set(settled)).toEqual(new Set(decisions));
    expect(settled).toHaveLength(admitted.length);
  });
});
