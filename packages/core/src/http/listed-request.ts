import { channel } from "node:diagnostics_channel";
import { CHANNELS } from "../channels.ts";
import { publish } from "../limiter/publish.ts";
import type { ReportedLimiter } from "../limiter/reported-limiter.ts";

/** Published on `headgate:request:listed`. */
export interface ListedRequest extends ReportedLimiter {
  /** The method and the route as the application wrote it, such as `GET /users/:id`; undefined if there is none. */
  readonly route: string | undefined;
  /** The list that the client is on: on `allowList` it is not limited, on `blockList` or the operators' `denyList` it is refused. */
  readonly list: "allowList" | "blockList" | "denyList";
}

const listedRequests = channel(CHANNELS.listed);

/** Makes the message only where somebody listens. */
export function publishListed(describe: () => ListedRequest): void {
  if (listedRequests.hasSubscribers) publish(listedRequests, describe());
}
