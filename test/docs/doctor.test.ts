import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHECKS } from "../../packages/cli/src/doctor/checks.ts";
import { examine } from "../cli/examine.ts";
import { runCli } from "../cli/run-cli.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { blocksOf, page, section } from "./markdown.ts";

const PAGE = page("docs/how-to/doctor.md");

test("each check of the doctor has a section with the same three parts, in order", () => {
  const names = CHECKS.map(({ name }) => name);
  const sections = [...PAGE.text.matchAll(/^## ([a-z-]+)$/gm)].map((match) => match[1]);
  expect(sections).toEqual(names);
  for (const name of names) {
    expect(section(PAGE, name), name).toMatch(
      /\n- \*\*Looks at\*\*: [\s\S]+\n- \*\*Means\*\*: [\s\S]+\n- \*\*Fix\*\*: /,
    );
  }
});

test("the command explains each check without a server", async () => {
  for (const { name } of CHECKS) {
    const { exitCode, stdout, stderr } = await runCli(["doctor", "--explain", name]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(new RegExp(`^${name}\\n\\n- Looks at: [^]+\\n- Means: [^]+\\n- Fix: `));
    expect(stdout).not.toMatch(/\]\(|docs\//);
  }
  const unknown = await runCli(["doctor", "--explain", "weather"]);
  expect([unknown.exitCode, unknown.stdout]).toEqual([2, ""]);
  expect(unknown.stderr).toContain("--explain takes one of servers, ");
});

const isLong = process.env["HEADGATE_LONG"] === "1";

describe("a user with its permissions", () => {
  const [line = ""] = blocksOf([PAGE], "text").map(({ text }) => text.trim());
  const words = line.split(" ");
  const needed = words.filter((word) => word.startsWith("+"));
  let server: RedisProcess;
  let admin: Redis;
  let at: string;

  beforeAll(async () => {
    server = await startRedis({ port: true });
    admin = new Redis(server.socket);
    const [command = "", ...acl] = words;
    await admin.call(command, ...acl);
    await admin.call("ACL", "SETUSER", "headgate", "on", "nopass", "~hg:*", "+@all");
    await admin.set("hg:{ann}:api:default:PBBk8jmq", "", "EX", 600);
    at = `redis://headgate-doctor:secret@127.0.0.1:${server.port}`;
  });
  afterAll(async () => {
    admin.disconnect();
    await server.stop();
  });

  /** What is said, but for what differs each time. */
  async function said(): Promise<readonly unknown[]> {
    const { statuses, worst } = await examine(at, "--as", "headgate");
    const own = await examine(at);
    return [statuses, worst("keys").message.includes("and take"), own.worst("permissions").message];
  }

  test("may run every check, and change nothing", async () => {
    const { statuses } = await examine(at, "--as", "headgate");
    expect(Object.values(statuses)).not.toContain("unknown");
    const user = new Redis(at, { enableReadyCheck: false, disableClientInfo: true });
    await expect(user.set("hg:{ann}", "")).rejects.toThrow("NOPERM");
    await expect(user.config("SET", "timeout", "1")).rejects.toThrow("NOPERM");
    user.disconnect();
  });

  // A few of them, unless there is time. What a cluster is asked, only a cluster is.
  const tried = needed.filter((permission) => !permission.startsWith("+cluster"));
  test.each(isLong ? tried : tried.slice(0, 2))("needs the permission %s", async (permission) => {
    const all = await said();
    await admin.call("ACL", "SETUSER", "headgate-doctor", permission.replace("+", "-"));
    expect(await said()).not.toEqual(all);
    await admin.call("ACL", "SETUSER", "headgate-doctor", permission);
  });
});
