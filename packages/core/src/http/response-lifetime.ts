import { addAbortCallback } from "../common/abort-listeners.ts";
import type { SlotHandle } from "../policy/slot.ts";
import type { DisconnectWatch } from "../queue/queue.ts";
import type { Client } from "./client.ts";
import { canDetectDisconnect, watchResponse } from "./response/response-end.ts";

/**
 * Renews a request's slots until its response ends, and then releases them. If the client disconnects before that, they are no
 * longer renewed but also not released, so that disconnecting frees no slot. They are not renewed either while Node could not
 * notice that the client disconnected, or once the response has been collected as garbage.
 */
export function holdSlots(slots: SlotHandle, response: object): void {
  const known = new WeakRef(response);
  slots.startRenewing(() => {
    const current = known.deref();
    return current !== undefined && canDetectDisconnect(current);
  });
  watchResponse(response, {
    onEnded() {
      // If the store is unavailable, they expire.
      slots.release().catch(() => {});
    },
    onDisconnected() {
      slots.abandon();
    },
  });
}

/**
 * Watches whether a request still needs a response: its client is connected, and nothing else has ended Node's response.
 * `closing` aborts when all waits must end.
 */
export function watchDisconnect(
  response: object,
  client: Client,
  closing: AbortSignal,
): DisconnectWatch {
  const controller = new AbortController();
  const end = (): void => controller.abort();
  let isOver = false;
  const leave = (): void => {
    isOver = true;
    end();
  };
  const stopWatchingResponse = watchResponse(response, { onEnded: leave, onDisconnected: leave });
  const stopWatchingClosing = addAbortCallback(closing, end);
  const isDisconnected = (): boolean => isOver || client.isDisconnected();
  if (isDisconnected() || closing.aborted) end();
  return {
    signal: controller.signal,
    isDisconnected,
    stop() {
      stopWatchingClosing();
      stopWatchingResponse();
    },
  };
}

/** Resolves with the status of a response when it has been ended; with undefined if its client disconnected before. */
export function waitForStatus(response: object): Promise<number | undefined> {
  return new Promise((resolve) => {
    watchResponse(response, { onEnded: resolve, onDisconnected: () => resolve(undefined) });
  });
}

/** Resolves with whether the whole response was sent, once that is known. */
export function waitUntilSent(response: object): Promise<boolean> {
  return new Promise((resolve) => {
    watchResponse(response, { onSent: () => resolve(true), onDisconnected: () => resolve(false) });
  });
}
