import { beforeEach, describe, expect, test } from "vitest";
import { Failure } from "./failure.ts";
import type { PollState } from "./polling.ts";
import { Polling, pauseAfter } from "./polling.ts";

interface PendingRequest {
  readonly signal: AbortSignal;
  readonly answer: (value: number) => Promise<void>;
  readonly fail: (error: unknown) => Promise<void>;
}

describe("polling a view", () => {
  let requests: PendingRequest[];
  let timers: { run: () => void; ms: number }[];
  let seen: PollState<number>[];
  let polling: Polling<number>;

  const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

  beforeEach(() => {
    requests = [];
    timers = [];
    seen = [];
    polling = new Polling<number>({
      pollMs: 5_000,
      onChange: (state) => seen.push(state),
      load: (signal) =>
        new Promise((resolve, reject) => {
          requests.push({
            signal,
            answer: (value) => {
              resolve(value);
              return settled();
            },
            fail: (error) => {
              reject(error);
              return settled();
            },
          });
        }),
      schedule: (run, ms) => {
        const timer = { run, ms };
        timers.push(timer);
        return () => timers.splice(timers.indexOf(timer) >>> 0, 1);
      },
    });
    polling.load();
  });

  const last = (): PendingRequest => requests.at(-1) as PendingRequest;

  test("sends one request at a time, and the next one after a pause", async () => {
    polling.load();
    expect(requests).toHaveLength(1);
    await last().answer(1);
    expect(requests).toHaveLength(2);
    await last().answer(2);
    expect(timers.map(({ ms }) => ms)).toEqual([5_000]);
    expect(seen.map(({ data }) => data)).toEqual([1, 2]);
  });

  test("keeps the last successful response while requests fail, and polls less often", async () => {
    await last().answer(7);
    timers.pop()?.run();
    await last().fail(new Failure(503, "Redis is away"));
    expect(seen.at(-1)).toMatchObject({ data: 7, failure: { status: 503 } });
    const pauses: number[] = [];
    for (let i = 0; i < 5; i += 1) {
      const timer = timers.pop();
      pauses.push(timer?.ms ?? 0);
      timer?.run();
      await last().fail(new TypeError("no network"));
    }
    expect(pauses).toEqual([5_000, 10_000, 20_000, 40_000, 60_000]);
    timers.pop()?.run();
    await last().answer(8);
    expect(seen.at(-1)).toEqual({ data: 8, failure: undefined });
    expect(timers.map(({ ms }) => ms)).toEqual([5_000]);
  });

  test("sends no request while paused, and one at once when resumed", async () => {
    polling.pause();
    await last().answer(1);
    expect(timers).toHaveLength(0);
    polling.resume();
    expect(requests).toHaveLength(2);
    polling.resume();
    expect(requests).toHaveLength(2);
  });

  test("aborts the request in progress when stopped, and reports nothing more", async () => {
    polling.stop();
    expect(last().signal.aborted).toBe(true);
    await last().answer(1);
    expect(seen).toEqual([]);
    expect(timers).toHaveLength(0);
  });

  test("stops after a permanent failure", async () => {
    await last().fail(new Failure(403, ""));
    expect(timers).toHaveLength(0);
  });

  test("goes on after 404, since the item may still appear", async () => {
    await last().fail(new Failure(404, ""));
    expect(timers).toHaveLength(1);
  });

  test("waits as long as Retry-After says", () => {
    expect(pauseAfter(1, 5_000, 90_000)).toBe(90_000);
    expect(pauseAfter(0, 5_000)).toBe(5_000);
  });
});
