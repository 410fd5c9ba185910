import type { FaultClient } from "../clients.ts";
import type { Caller } from "./caller.ts";

/** Creates a caller of an application that runs in this process. */
export function createCaller(
  name: string,
  client: FaultClient,
  { consume, close }: Pick<Caller, "consume" | "close">,
): Caller {
  return {
    name,
    client,
    consume,
    async close() {
      await close();
      await client.close();
    },
  };
}
