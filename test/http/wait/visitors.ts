import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import type { Socket } from "node:net";
import { connect } from "node:net";
import type { Clock, InUseCount, Limiter, LimiterOptions } from "@headgate/core";
import { CHANNELS, createLimiter, memoryStore } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { expect, onTestFinished } from "vitest";
import { eventually } from "../support/eventually.ts";
import type { AnyRequest } from "../support/framework.ts";
import type { ManualClock } from "../support/manual-clock.ts";
import { uniquePrefix, useRedis } from "../support/redis-client.ts";

/** Where requests are counted. */
export interface Place {
  readonly name: string;
  /** A limiter, on the clock of a test where one is given. */
  make(options: Pick<LimiterOptions, "limits" | "maxQueue" | "shadow">, clock?: Clock): Limiter;
}

/** For the tests of a suite. */
export function usePlaces(): readonly Place[] {
  const redis = useRedis();
  return [
    {
      name: "memory",
      make: (options, clock) => made({ ...options, store: memoryStore({ clock }) }),
    },
    {
      name: "Redis",
      make: (options, clock) =>
        made({ ...options, store: redisStore(redis, { prefix: uniquePrefix(), clock }) }),
    },
  ];
}

function made(options: LimiterOptions): Limiter {
  const limiter = createLimiter({ name: "waiting", storeTimeout: "1m", ...options });
  onTestFinished(() => limiter.close());
  return limiter;
}

/** Who asks, in the tests' requests: `/?ada`. */
export function visitorOf(request: AnyRequest): string {
  return new URL(request.url, "http://localhost").search.slice(1) || "nobody";
}

/** A request on a connection of its own. */
export interface Visit {
  /** What was answered, as text; resolves when the connection is closed. */
  readonly answer: Promise<string>;
  /** Hangs up. */
  leave(): void;
}

/** Sends a request; resolves when it has been sent. */
export async function visit(port: number, path: string): Promise<Visit> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const answer = textOf(socket);
  await once(socket, "connect");
  socket.write(`GET ${path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n`);
  return { answer, leave: () => void socket.destroy() };
}

function textOf(socket: Socket): Promise<string> {
  let text = "";
  socket.on("error", () => {});
  socket.on("data", (bytes) => {
    text += bytes;
  });
  return new Promise((resolve) => socket.once("close", () => resolve(text)));
}

/** The status of an answer; 0 where there is none. */
export function statusOf(answer: string): number {
  return Number(/^HTTP\/1.1 (\d+)/.exec(answer)?.[1] ?? 0);
}

/** The milliseconds that an answer says its request waited; undefined where it did not. */
export function waitedMs(header: string | undefined): number | undefined {
  const [, ms] = /(?:^|, )headgate;dur=(\d+\.\d)$/.exec(header ?? "") ?? [];
  return ms === undefined ? undefined : Number(ms);
}

/** Counts who joins a line of this process from now on: calls of `wait`, and requests. */
export function watchLine(): { count(): number; joined(count: number): Promise<void> } {
  let joined = 0;
  const waiting = new Map<string, number>();
  const note = (message: unknown): void => {
    const { limiter, count } = message as InUseCount;
    if (count > (waiting.get(limiter) ?? 0)) joined += 1;
    waiting.set(limiter, count);
  };
  subscribe(CHANNELS.waiting, note);
  onTestFinished(() => void unsubscribe(CHANNELS.waiting, note));
  return {
    count: () => joined,
    joined: (count) => eventually(() => expect(joined).toBeGreaterThanOrEqual(count)),
  };
}

/** Asks, and lets time pass on the clock of the limiter, which stands still otherwise, once the request is in line. */
export async function askInLine<Answer>(
  ask: () => Promise<Answer>,
  clock: ManualClock,
  milliseconds: number,
): Promise<Answer> {
  const line = watchLine();
  const answer = ask();
  await line.joined(1);
  clock.advance(milliseconds);
  return answer;
}
