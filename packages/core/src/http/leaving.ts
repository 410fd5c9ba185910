import { onceAborted } from "../limiter/line/abort-listeners.ts";
import type { Leaving } from "../limiter/line/line.ts";
import { watchResponse } from "./response/response-end.ts";
import type { Client } from "./verdict.ts";

/**
 * Watches, from now on, whether a request is still to be answered, on this response of Node's: its client is there, and nothing else
 * has answered it. `ending` aborts when all waits must end.
 */
export function watchLeaving(response: object, client: Client, ending: AbortSignal): Leaving {
  const controller = new AbortController();
  const end = (): void => controller.abort();
  let isOver = false;
  const leave = (): void => {
    isOver = true;
    end();
  };
  const forgetResponse = watchResponse(response, { onEnded: leave, onLeft: leave });
  const forgetEnding = onceAborted(ending, end);
  const hasLeft = (): boolean => isOver || client.hasLeft();
  if (hasLeft() || ending.aborted) end();
  return {
    signal: controller.signal,
    hasLeft,
    stop() {
      forgetEnding();
      forgetResponse();
    },
  };
}
