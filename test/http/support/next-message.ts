import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { onTestFinished } from "vitest";

const WITHIN_MS = 15_000;

/** Resolves with the next message on a diagnostics channel. */
export function nextMessage<Message>(channel: string): Promise<Message> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer);
      unsubscribe(channel, note);
    };
    const note = (message: unknown) => {
      end();
      resolve(message as Message);
    };
    const timer = setTimeout(() => {
      end();
      reject(new Error(`nothing was published on ${channel} within ${WITHIN_MS} ms`));
    }, WITHIN_MS);
    subscribe(channel, note);
    onTestFinished(end);
  });
}
