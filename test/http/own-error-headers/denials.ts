import { gcra } from "@headgate/core";
import { expect } from "vitest";
import { secondsLeft } from "../support/seconds-left.ts";
import type { TestResponse } from "../support/send-request.ts";

/*
 * However an application ends a denied request by an error, and whatever then answers that error: the headers stay.
 */

export const limits = gcra({ limit: 1, window: "1h" });

/** The headers of a denial. */
export const HEADERS = {
  "retry-after": secondsLeft(3_600),
  "cache-control": "no-store",
  "x-ratelimit-limit": "1",
  "x-ratelimit-remaining": "0",
  "x-ratelimit-reset": secondsLeft(3_600),
  ratelimit: expect.stringMatching(/^"1-per-1h";r=0;t=\d+$/),
  "ratelimit-policy": '"1-per-1h";q=1;w=3600',
};

/** An error in the shape of `http-errors`. */
class TooFast extends Error {
  readonly status = 429;
  readonly statusCode = 429;
}

export const tooFast = (): TooFast => new TooFast("too fast");
export const withHeaders = (): TooFast => Object.assign(tooFast(), { headers: { "x-own": "own" } });
export const bug = (): Error => new Error("a bug");

export function thrown(make: () => Error): () => never {
  return () => {
    throw make();
  };
}

/** Each end of a denial with each handler of its error. */
export function combine<End, Handler>(
  ends: Readonly<Record<string, End>>,
  handlers: Readonly<Record<string, Handler>>,
) {
  return Object.entries(ends).flatMap(([end, onDenied]) =>
    Object.entries(handlers).map(([by, handler]) => ({ end, by, onDenied, handler })),
  );
}

export function expectKept({ status, headers }: TestResponse, end: string): void {
  expect(status).toBe(end.includes("a bug") ? 500 : 429);
  expect(headers).toMatchObject(HEADERS);
}
