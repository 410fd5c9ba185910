import type { FaultClient } from "../clients.ts";
import type { Caller } from "./caller.ts";

/** Somebody who asks an application that runs in this process. */
export function callerOver(
  name: string,
  client: FaultClient,
  { ask, close }: Pick<Caller, "ask" | "close">,
): Caller {
  return {
    name,
    client,
    ask,
    async close() {
      await close();
      await client.close();
    },
  };
}
