import { userInfo } from "node:os";

/** The system's name of the user of this process; undefined where it has none, as in some containers. */
export function systemUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}
