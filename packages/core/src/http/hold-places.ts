import type { HeldPlaces } from "../limiter/places/places.ts";
import { isClientSeen, watchResponse } from "./response/response-end.ts";

/**
 * Renews the places of a request until its response is ended, and gives them back then. If the client leaves before that, they are
 * renewed no more: hanging up frees no place. Nor are they renewed while nobody could see that the client left.
 */
export function holdPlaces(places: HeldPlaces, response: object): void {
  places.keep(() => isClientSeen(response));
  watchResponse(response, {
    onEnded() {
      // If the store does not hear of it, they lapse.
      places.release().catch(() => {});
    },
    onLeft() {
      places.leave();
    },
  });
}
