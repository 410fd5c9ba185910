import type { HeldPlaces } from "../limiter/places/places.ts";

/** What is used of a response of Node's: one of HTTP/1.1, or of HTTP/2's compatibility API, which has a stream. */
interface Response {
  readonly writableEnded: boolean;
  readonly stream?: { readonly aborted: boolean; readonly writableFinished: boolean } | undefined;
  end(...args: unknown[]): unknown;
  once(event: "close", listener: () => void): unknown;
}

/**
 * Renews the places of a request until it is answered, and gives them back when `end` has been called: after a hang-up no event
 * says so. Where the client leaves before that, they are left to lapse, so that nobody frees a place by hanging up.
 */
export function holdPlaces(places: HeldPlaces, response: object, hasLeft: boolean): void {
  const answer = response as Response;
  const giveBack = (): void => {
    // What the store does not hear lapses.
    places.release().catch(() => {});
  };
  // Something else has answered meanwhile, on a timeout for instance.
  if (answer.writableEnded) {
    giveBack();
    return;
  }
  if (hasLeft) places.leave();
  places.keep();
  const { end } = answer;
  answer.end = (...args) => {
    const returned = end.apply(answer, args);
    giveBack();
    return returned;
  };
  answer.once("close", () => {
    // In HTTP/2, the stream itself may have been written to; Node ends one that its client reset, too.
    if (answer.stream?.writableFinished && !answer.stream.aborted) giveBack();
    else places.leave();
  });
}
