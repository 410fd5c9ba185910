import { formatReceived, invalidOption } from "../../common/errors.ts";
import type { CompiledPolicy } from "../../policy/compiled-policy.ts";

/** Throws `HEADGATE_INVALID_OPTION` for limits whose units cannot be leased. */
export function requireLeasable({ limits, groups, hasSlots }: CompiledPolicy): void {
  // A slot belongs to a single request.
  if (hasSlots) {
    throw invalidOption(
      "lease cannot be used with a concurrency limit, which has no units to take ahead: leave one of them out",
    );
  }
  // Units leased for one subject do not show whether another subject of the same request is allowed.
  if (groups.length > 1) {
    throw invalidOption(
      `lease needs limits of one dimension in a limiter that does not extend another one; these count by ${groups.map(({ dimension }) => dimension).join(", ")}`,
    );
  }
  // A blocked subject could continue to spend leased units.
  const blocking = limits.find(({ block }) => block !== undefined);
  if (blocking !== undefined) {
    throw invalidOption(
      `lease cannot be used with block, which would come too late for units taken ahead; the limit ${formatReceived(blocking.name)} has block`,
    );
  }
  // Leased units are charged before they are used.
  const notifying = limits.find(({ notify }) => notify !== undefined);
  if (notifying !== undefined) {
    throw invalidOption(
      `lease cannot be used with notifyAt, which would count units taken ahead as used; the limit ${formatReceived(notifying.name)} has notifyAt`,
    );
  }
}
