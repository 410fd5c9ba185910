import { userInfo } from "node:os";

/** The system's name for the user of this process; undefined if it has none, as in some containers. */
export function systemUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
