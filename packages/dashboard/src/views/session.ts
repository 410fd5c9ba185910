import type { Visitor } from "../access/visitor.ts";
import type { Session } from "../api.ts";

/** The session, which the page loads first. It does not need Redis. */
export function buildSession(
  { by, actions, isRestricted }: Visitor,
  options: {
    readonly prefix: string;
    readonly title: string;
    readonly hasDoctor: boolean;
  },
): Session {
  const { prefix, title, hasDoctor } = options;
  return {
    by,
    actions,
    prefix,
    title,
    pollMs: 5_000,
    hasDoctor: hasDoctor && !isRestricted,
  };
}
