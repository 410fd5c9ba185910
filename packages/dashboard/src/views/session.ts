import { VERSION } from "@headgate/core/internal";
import type { Visitor } from "../access/visitor.ts";
import type { Session } from "../api.ts";
import type { Reading } from "../reading.ts";

/** What the page needs first. Also available without Redis; `now` is then this machine's. */
export async function viewSession(
  { by, actions, isLimited }: Visitor,
  options: {
    readonly reading: Reading;
    readonly prefix: string;
    readonly title: string;
    readonly hasDoctor: boolean;
  },
): Promise<Session> {
  const { reading, prefix, title, hasDoctor } = options;
  return {
    by,
    actions,
    prefix,
    version: VERSION,
    title,
    now: await reading.now(),
    pollMs: 5_000,
    hasDoctor: hasDoctor && !isLimited,
  };
}
