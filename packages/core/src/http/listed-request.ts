import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "../channels.ts";
import { publish } from "../limiter/publish.ts";
import type { ReportedLimiter } from "../limiter/reported-limiter.ts";

/** Published on `headgate:request:listed`. */
export interface ListedRequest extends ReportedLimiter {
  /** The method and the route as it was written, as in `GET /users/:id`; undefined where there is none. */
  readonly route: string | undefined;
  /** The list that the client is on: `allowList` lets it on without a limit, `blockList` refuses it. */
  readonly list: "allowList" | "blockList";
}

const listedRequests = channel(CHANNELS.listed);

/** Makes the message only where somebody listens. */
export function publishListed(describe: () => ListedRequest): void {
  if (listedRequests.hasSubscribers) publish(listedRequests, describe());
}
