import { formatReceived, HeadgateError } from "../errors.ts";
import type { Duration } from "../time.ts";
import { parseDuration, toMilliseconds } from "../time.ts";

/** How long a request that would be denied waits first: 1 ms to 10 minutes, or `false` for no wait. */
export type WaitOption = Duration | false;

/** The longest wait, in microseconds: ten minutes. */
const LONGEST = 600_000_000;

/** The option in milliseconds; undefined where nobody waits. Throws `HEADGATE_INVALID_OPTION`. */
export function readWaitOption(option: WaitOption | undefined): number | undefined {
  if (option === undefined || option === false) return undefined;
  const wait = parseDuration(option, "wait", "HEADGATE_INVALID_OPTION");
  if (wait <= LONGEST) return toMilliseconds(wait);
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `wait must be false, or from 1 ms to 10 minutes, got ${formatReceived(option)}`,
  );
}
