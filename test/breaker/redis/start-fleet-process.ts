import { fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { BreakerOptions } from "@headgate/breaker";

const script = fileURLToPath(new URL("fleet-process.mjs", import.meta.url));

/** What a process saw while it called. Moments are milliseconds since the epoch, with their fractions. */
export interface Traffic {
  /** When calls reached the upstream. */
  readonly calls: readonly number[];
  /** When calls were answered by the fallback. */
  readonly refusals: readonly number[];
}

/** A process that calls an upstream through a breaker; fleet-process.mjs implements it. */
export interface FleetProcess {
  fail(calls: number): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<Traffic>;
  callOnce(): Promise<{ readonly reached: boolean; readonly answer: string }>;
  forceOpen(): Promise<void>;
  reset(): Promise<void>;
  kill(): void;
}

export async function startFleetProcess(
  socket: string,
  options: BreakerOptions<never>,
): Promise<FleetProcess> {
  const child = fork(script, [socket, JSON.stringify(options)], { execArgv: [] });
  const gone = once(child, "exit").then(([code]): never => {
    throw new Error(`a process ended with code ${code}`);
  });
  gone.catch(() => {});
  await Promise.race([once(child, "message"), gone]);
  let lastId = 0;

  async function request<Result>(task: string, more: object = {}): Promise<Result> {
    lastId += 1;
    const id = lastId;
    const reply = new Promise<Result>((resolve) => {
      child.on("message", function listen(message: { id: number; result: Result }) {
        if (message.id !== id) return;
        child.off("message", listen);
        resolve(message.result);
      });
    });
    child.send({ id, task, ...more });
    return Promise.race([reply, gone]);
  }

  return {
    fail: (calls) => request("fail", { calls }),
    start: () => request("start"),
    stop: () => request("stop"),
    callOnce: () => request("callOnce"),
    forceOpen: () => request("forceOpen"),
    reset: () => request("reset"),
    kill: () => void child.kill("SIGKILL"),
  };
}
