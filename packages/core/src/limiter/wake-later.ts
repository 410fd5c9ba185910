import { nobody } from "../store/nobody.ts";

/** What does something now and then in the background. */
interface Sleeper {
  wake(): unknown;
}

/** Wakes a sleeper after some milliseconds. No process is kept alive by it, nor a client that was dropped without closing what was made on it. */
export function wakeLater(ms: number, sleeper: Sleeper): NodeJS.Timeout {
  return nobody.runInAsyncScope(start, undefined, ms, new WeakRef(sleeper));
}

function start(ms: number, sleeper: WeakRef<Sleeper>): NodeJS.Timeout {
  return setTimeout(wake, ms, sleeper).unref();
}

function wake(sleeper: WeakRef<Sleeper>): void {
  sleeper.deref()?.wake();
}

/** A time, and up to a share more, so that processes that started together do not write together. */
export function spread(ms: number, share: number): number {
  return ms * (1 + share * Math.random());
}
