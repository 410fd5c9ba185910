import { HeadgateError } from "../errors.ts";
import type { Client, Verdict } from "./verdict.ts";
import { LEFT } from "./verdict.ts";

/** What becomes of a request without the address that it needs: dropped where its client has left. Throws `HEADGATE_NO_ADDRESS`. */
export function withoutAddress(owner: string, client: Client, remedy: string): Verdict {
  if (client.hasLeft()) return LEFT;
  throw new HeadgateError(
    "HEADGATE_NO_ADDRESS",
    `${owner}: a request has no client address, as over a unix socket; let the framework trust the proxy in front, or ${remedy}`,
  );
}
