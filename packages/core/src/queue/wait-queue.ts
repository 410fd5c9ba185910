import { addAbortCallback } from "../common/abort-listeners.ts";
import { HeadgateError } from "../common/errors.ts";
import { hasCostsByName, identityOf } from "../operations/counter.ts";
import { includedCounters } from "../policy/costs.ts";
import type { SubjectCounter } from "../policy/counters.ts";
import type { KeyQueueDeps, Waiter } from "./key-queue.ts";
import { callAt, KeyQueue } from "./key-queue.ts";
import type { Attempt, WaitQueue } from "./queue.ts";

interface WaitQueueDeps extends KeyQueueDeps {
  /** Counts one more waiting call, and may return a function that ends the count. */
  readonly countWaiting: () => (() => void) | undefined;
}

/** Creates a queue for at most `maxQueue` waiting calls. */
export function createWaitQueue(maxQueue: number, deps: WaitQueueDeps): WaitQueue {
  const queues = new Map<string, KeyQueue>();
  let waiting = 0;

  function queueFor(key: string): KeyQueue {
    const known = queues.get(key);
    if (known !== undefined) return known;
    const queue = new KeyQueue(deps, () => {
      if (queues.get(key) === queue) queues.delete(key);
    });
    queues.set(key, queue);
    return queue;
  }

  return {
    enter(call, { group, timeoutMs, signal, maxPerKey, denial, endsWait, onRejected }) {
      if (signal?.aborted) return Promise.reject(signal.reason);
      if (group?.closeError !== undefined) return Promise.reject(group.closeError);
      const isKeyFull = maxPerKey !== undefined && (queues.get(call.key)?.size ?? 0) >= maxPerKey;
      if (waiting >= maxQueue || isKeyFull) {
        return Promise.reject(
          new HeadgateError("HEADGATE_QUEUE_FULL", `${waiting} calls are waiting already`),
        );
      }
      const queue = queueFor(call.key);
      waiting += 1;
      const stopCounting = deps.countWaiting();
      return new Promise<Attempt>((resolve, reject) => {
        const leave = (): void => {
          waiting -= 1;
          stopCounting?.();
          cancelTimeout?.();
          removeListener?.();
          queue.remove(waiter);
        };
        const waiter: Waiter = {
          call,
          group,
          endsWait,
          previous: undefined,
          next: undefined,
          resolve(attempt) {
            leave();
            resolve(attempt);
          },
          reject(error) {
            leave();
            onRejected?.(queue.lastDenial);
            reject(error);
          },
        };
        const removeListener =
          signal && addAbortCallback(signal, () => waiter.reject(signal.reason));
        const cancelTimeout =
          timeoutMs === undefined
            ? undefined
            : callAt(performance.now() + timeoutMs, () =>
                waiter.reject(
                  new HeadgateError("HEADGATE_WAIT_TIMEOUT", `not admitted within ${timeoutMs} ms`),
                ),
              );
        queue.add(waiter, denial);
      });
    },

    wake(identity) {
      for (const [key, queue] of queues) {
        if (identity === undefined || key.split(" ").includes(identity)) queue.wake();
      }
    },

    lastDenial: (key) => queues.get(key)?.lastDenial,

    close(error, group) {
      if (group !== undefined) group.closeError = error;
      for (const queue of [...queues.values()]) queue.rejectAll(error, group);
    },
  };
}

/** The key of the queue in which a call waits: equal for all calls with the same limits and subjects. */
export function queueKeyOf(counters: readonly SubjectCounter[]): string {
  return includedCounters(counters)
    .map((counter) => {
      const excluded = (counter.costs ?? []).flatMap((units, i) => (units === 0 ? i : []));
      return [identityOf(counter), ...excluded].join(" ");
    })
    .join(" ");
}

/** Equal for calls with the same counters and the same cost. */
export function costKeyOf(counters: readonly SubjectCounter[], cost: number): number | string {
  return hasCostsByName(counters) ? counters.map(({ costs }) => `${costs}`).join(";") : cost;
}
