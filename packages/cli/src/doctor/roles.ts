/** The roles of Redis users. */
export type Role = "application" | "reader" | "operator";

const READ: readonly string[] = ["evalsha", "eval", "get", "strlen", "getrange", "time"];
const COUNT: readonly string[] = [...READ, "set", "del", "setrange", "pexpire"];

/** The commands that each role needs on keys with the prefix. docs/how-to/operate.md has them as lines of ACL SETUSER. */
export const ROLES: Readonly<Record<Role, readonly string[]>> = {
  application: COUNT,
  reader: [...READ, "lrange"],
  operator: [...COUNT, "lpush", "ltrim", "lrange", "acl|whoami"],
};
