// The limits of an API, in a file of their own, so that a test can import them without the server.

import { gcra, slidingLog } from "@headgate/core";

export const API_LIMITS = [
  gcra({ limit: 20, window: "10s" }),
  slidingLog({ limit: 60, window: "1m" }),
];
