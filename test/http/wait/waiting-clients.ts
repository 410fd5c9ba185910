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

/** A kind of store on which requests are counted. */
export interface StoreKind {
  readonly name: string;
  /** Creates a limiter, on the clock of the test if one is given. */
  createLimiter(
    options: Pick<LimiterOptions, "limits" | "maxQueue" | "shadow">,
    clock?: Clock,
  ): Limiter;
}

/** The kinds of stores for a suite. */
export function useStores(): readonly StoreKind[] {
  const redis = useRedis();
  return [
    {
      name: "memory",
      createLimiter: (options, clock) =>
        createTestLimiter({ ...options, store: memoryStore({ clock }) }),
    },
    {
      name: "Redis",
      createLimiter: (options, clock) =>
        createTestLimiter({
          ...options,
          store: redisStore(redis, { prefix: uniquePrefix(), clock }),
        }),
    },
  ];
}

function createTestLimiter(options: LimiterOptions): Limiter {
  const limiter = createLimiter({ name: "waiting", storeTimeout: "1m", ...options });
  onTestFinished(() => limiter.close());
  return limiter;
}

/** The client of a test's request: `/?ada`. */
export function clientNameOf(request: AnyRequest): string {
  return new URL(request.url, "http://localhost").search.slice(1) || "nobody";
}

/** A request on a connection of its own. */
export interface OpenRequest {
  /** The raw response; resolves when the connection is closed. */
  readonly response: Promise<string>;
  /** Closes the connection. */
  disconnect(): void;
}

/** Sends a request; resolves when it has been sent. */
export async function openRequest(port: number, path: string): Promise<OpenRequest> {
  const socket = connect(port, "127.0.0.1");
  onTestFinished(() => void socket.destroy());
  const response = textOf(socket);
  await once(socket, "connect");
  socket.write(`GET ${path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n`);
  return { response, disconnect: () => void socket.destroy() };
}

function textOf(socket: Socket): Promise<string> {
  let text = "";
  socket.on("error", () => {});
  socket.on("data", (bytes) => {
    text += bytes;
  });
  return new Promise((resolve) => socket.once("close", () => resolve(text)));
}

/** The status of a raw response; 0 without one. */
export function statusOf(response: string): number {
  return Number(/^HTTP\/1.1 (\d+)/.exec(response)?.[1] ?? 0);
}

/** The wait in milliseconds that Server-Timing reports; undefined without one. */
export function waitedMs(header: string | undefined): number | undefined {
  const [, ms] = /(?:^|, )headgate;dur=(\d+\.\d)$/.exec(header ?? "") ?? [];
  return ms === undefined ? undefined : Number(ms);
}

/** Counts the calls of `wait` and the requests that join a queue of this process from now on. */
export function watchQueue(): { count(): number; joined(count: number): Promise<void> } {
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

/** Sends a request, and once it waits in the queue advances the clock of the limiter, which otherwise stands still. */
export async function sendAndWait<Response>(
  sendRequest: () => Promise<Response>,
  clock: ManualClock,
  milliseconds: number,
): Promise<Response> {
  const line = watchQueue();
  const response = sendRequest();
  await line.joined(1);
  clock.advance(milliseconds);
  return response;
}
