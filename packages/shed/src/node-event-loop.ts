import { AsyncResource } from "node:async_hooks";
import { performance } from "node:perf_hooks";
import type { EventLoop } from "./law/event-loop.ts";

// As they are now: a request must not wait for the timers that a test of the application fakes.
const { setImmediate, setTimeout, queueMicrotask } = globalThis;
const { nextTick } = process;
const now = performance.now.bind(performance);

/** Timers of their own follow each other, and would keep the context of the request that was the first to wait. */
const outsideRequests = new AsyncResource("HeadgateShedTimer");

/** The event loop of this process or worker. */
export const nodeEventLoop: EventLoop = {
  now,
  timeOrigin: performance.timeOrigin,
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
