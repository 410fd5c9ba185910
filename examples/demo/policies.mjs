// The limits of the shop that the demo plays.
import { fixedWindow, gcra, slidingWindow } from "@headgate/core";

/** Of every client of the shop. */
export const API = [
  gcra({ name: "burst", limit: 20, window: "10s" }),
  slidingWindow({ name: "minute", limit: 60, window: "1m" }),
];

/** Five attempts a minute; a client that continues is blocked. */
export const LOGIN = [gcra({ name: "attempts", limit: 5, window: "1m", block: "10m" })];

/** Of the search, which one of the two processes has in an older version. */
export const SEARCH = {
  now: [slidingWindow({ name: "search", limit: 30, window: "1m" })],
  before: [fixedWindow({ name: "search", limit: 20, window: "1m" })],
};
