import { MAX_TIMER_MS } from "../common/time.ts";

/**
 * Calls back at a time of `performance.now()`, however far ahead, and never before it, as `setTimeout` may. Returns a function that
 * cancels it.
 */
export function callAt(time: number, callback: () => void): () => void {
  let timer: NodeJS.Timeout;
  const arm = (): void => {
    // Node warns of a negative delay, as that to a time that has passed.
    const left = Math.max(0, Math.ceil(time - performance.now()));
    timer = setTimeout(onTimer, Math.min(left, MAX_TIMER_MS));
  };
  const onTimer = (): void => {
    if (performance.now() < time) arm();
    else callback();
  };
  arm();
  return () => clearTimeout(timer);
}
