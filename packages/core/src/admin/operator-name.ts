import { userInfo } from "node:os";
import { withTimeout } from "../store/with-timeout.ts";

/** The system's name for the user of this process; undefined if it has none, as in some containers. */
export function systemUser(): string | undefined {
  try {
    return userInfo().username;
  } catch {
    return undefined;
  }
}

/** Methods that some clients have for other commands. */
interface AclClient {
  /** ioredis and iovalkey. */
  call?(...command: readonly string[]): Promise<unknown>;
  /** node-redis. */
  aclWhoAmI?(): Promise<unknown>;
  /** Valkey GLIDE. */
  customCommand?(command: readonly string[]): Promise<unknown>;
}

/** The user that a client is connected as; undefined without the permission for ACL WHOAMI, or without a reply in time. */
export async function aclUserOf(client: object, withinMs: number): Promise<string | undefined> {
  try {
    const user = await withTimeout(withinMs, readUser(client), () => undefined);
    return user === undefined ? undefined : String(user);
  } catch {
    return undefined;
  }
}

async function readUser(client: AclClient): Promise<unknown> {
  if (typeof client.call === "function") return client.call("ACL", "WHOAMI");
  if (typeof client.aclWhoAmI === "function") return client.aclWhoAmI();
  return typeof client.customCommand === "function"
    ? client.customCommand(["ACL", "WHOAMI"])
    : undefined;
}
