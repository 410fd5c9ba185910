import { AsyncResource } from "node:async_hooks";
import { performance } from "node:perf_hooks";
import type { EventLoop } from "./law/event-loop.ts";

// As they are now: a request must not wait for the timers that a test of the application fakes.
const { setImmediate, setTimeout, queueMicrotask } = globalThis;
const { nextTick } = process;
const { now: date } = Date;
const now = performance.now.bind(performance);

/**
 * The async context of no request. Timers follow each other, and would keep that of the request that was the first to wait, and a
 * subscriber that learns of the load would take it for that request's.
 */
export const outsideRequests: AsyncResource = new AsyncResource("HeadgateShedLoad");

/** The event loop of this process or worker. */
export const nodeEventLoop: EventLoop = {
  now,
  date,
  idleTime: () => performance.nodeTiming.idleTime,
  setImmediate(callback) {
    setImmediate(callback);
  },
  // Node runs all promise reactions before the ticks that they schedule.
  afterReactions(callback) {
    queueMicrotask(() => nextTick(callback));
  },
  setTimeout(callback, ms) {
    outsideRequests.runInAsyncScope(() => setTimeout(callback, ms).unref());
  },
};
