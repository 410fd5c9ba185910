import { subscribe, unsubscribe } from "node:diagnostics_channel";
import type { IncomingMessage } from "node:http";
import { createServer } from "node:http";
import { text } from "node:stream/consumers";
import type { Cooldown } from "@headgate/fetch";
import { FETCH_CHANNELS } from "@headgate/fetch";
import { onTestFinished } from "vitest";
import { serve } from "../support/serve.ts";

/** A request that arrived at the provider. */
interface Arrival {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
  /** When, in milliseconds of `performance.now()`. */
  readonly at: number;
  readonly status: number;
}

/** The provider's answer to a request. */
interface ProvidersAnswer {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Milliseconds until the answer begins, or what it waits for. */
  readonly begins?: number | Promise<unknown>;
  /** Milliseconds between the beginning of the body and its end, or what its end waits for. */
  readonly ends?: number | Promise<unknown>;
}

/** An API with limits of its own, on a real HTTP server. */
export interface Provider {
  readonly url: string;
  /** The requests in the order of their arrival. */
  readonly arrivals: readonly Arrival[];
  /** The statuses of its answers. */
  statuses(): readonly number[];
}

/** Waits some milliseconds, or for something. */
const pause = (wait: number | Promise<unknown>) =>
  typeof wait === "number" ? new Promise((resolve) => setTimeout(resolve, wait)) : wait;

/** Starts an API that answers until the test ends. `answer` gets the number of the request, from 0 on. */
export async function startProvider(
  answer: (number: number, request: IncomingMessage, body: string) => ProvidersAnswer,
): Promise<Provider> {
  const arrivals: Arrival[] = [];
  let count = 0;
  const server = createServer((request, response) => {
    const at = performance.now();
    const number = count;
    count += 1;
    void (async () => {
      const body = await text(request);
      const given = answer(number, request, body);
      const { status = 200, headers = {}, begins = 0, ends = 0 } = given;
      const { method = "", url: path = "" } = request;
      arrivals.push({ method, path, headers: request.headers, body, at, status });
      if (begins !== 0) await pause(begins);
      response.writeHead(status, headers);
      const sent = given.body ?? `answer ${number}`;
      if (ends !== 0) {
        response.write(sent.slice(0, 1));
        await pause(ends);
        response.end(sent.slice(1));
      } else {
        response.end([204, 304].includes(status) ? undefined : sent);
      }
    })().catch(() => response.destroy());
  });
  const url = await serve(server);
  return { url, arrivals, statuses: () => arrivals.map(({ status }) => status) };
}

/** The answer of an API that takes no request until a time of `performance.now()`. */
export function tooManyUntil(time: number): ProvidersAnswer {
  const seconds = Math.max(0.001, (time - performance.now()) / 1_000).toFixed(3);
  return { status: 429, headers: { "retry-after": seconds }, body: "slow down" };
}

/** When calls were sent, in milliseconds of `performance.now()`. */
interface SentCalls {
  readonly fetch: typeof fetch;
  readonly times: readonly number[];
}

/** A `fetch` that notes when it sends. */
export function trackSent(): SentCalls {
  const times: number[] = [];
  return {
    fetch(...given) {
      times.push(performance.now());
      return fetch(...given);
    },
    times,
  };
}

/** A cooldown, and when it had begun in the store, in milliseconds of `performance.now()`. */
export interface SeenCooldown extends Cooldown {
  readonly at: number;
}

/** Collects what is published about cooldowns until the test ends. */
export function watchCooldowns(): readonly SeenCooldown[] {
  const seen: SeenCooldown[] = [];
  const add = (message: unknown) => seen.push({ ...(message as Cooldown), at: performance.now() });
  subscribe(FETCH_CHANNELS.cooldown, add);
  onTestFinished(() => {
    unsubscribe(FETCH_CHANNELS.cooldown, add);
  });
  return seen;
}
