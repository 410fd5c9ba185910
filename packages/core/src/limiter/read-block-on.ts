import { invalidValue } from "../common/errors.ts";
import type { BlockOn } from "../common/policy.ts";

/** When limits with `block` set their blocks. Throws `HEADGATE_INVALID_OPTION`. */
export function readBlockOn(blockOn: unknown = "denial"): BlockOn {
  if (blockOn === "denial" || blockOn === "settle") return blockOn;
  throw invalidValue('blockOn must be "denial" or "settle"', blockOn);
}
