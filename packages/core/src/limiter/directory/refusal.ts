import { HeadgateError } from "../../errors.ts";
import { INDEX_STATES } from "../../store/directory.ts";

/** How servers begin that take no write, also behind a script's own words. Other errors that pass are of a server that is away. */
const REFUSAL = /(?:^|-)(?:READONLY|OOM|MISCONF|NOREPLICAS) /;

/** Whether a server refuses to keep a directory, which is for its operator to know. */
export function isRefusal({ code, cause }: HeadgateError): boolean {
  if (code !== "HEADGATE_STORE_UNAVAILABLE") return true;
  return cause instanceof Error && REFUSAL.test(cause.message);
}

/** Why the index has no line of this process; undefined when it has one. */
export function refusalOf(state: number | undefined): HeadgateError | undefined {
  if (state === INDEX_STATES.full) return refused("it is full");
  if (state === INDEX_STATES.otherFormat)
    return refused("another version of Headgate keeps it in another format");
  if (state === INDEX_STATES.wrongType) return refused("its key holds a value of another type");
  return undefined;
}

function refused(why: string): HeadgateError {
  return new HeadgateError("HEADGATE_DIRECTORY_REFUSED", why);
}
