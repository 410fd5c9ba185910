import type { HeldPlaces } from "../limiter/places/places.ts";
import { watchResponse } from "./response/response-end.ts";

/**
 * Renews the places of a request until its response is ended, and gives them back then. If the client leaves before that, they are
 * renewed no more: hanging up frees no place.
 */
export function holdPlaces(places: HeldPlaces, response: object): void {
  places.keep();
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
