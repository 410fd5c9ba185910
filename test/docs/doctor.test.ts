import { Redis } from "ioredis";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { CHECKS } from "../../packages/cli/src/doctor/report.ts";
import { runCli } from "../cli/run-cli.ts";
import { runDoctor } from "../cli/run-doctor.ts";
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
      /\n- \*\*Checks\*\*: [\s\S]+\n- \*\*Impact\*\*: [\s\S]+\n- \*\*Fix\*\*: /,
    );
  }
});

test("the command explains each check without a server", async () => {
  for (const { name } of CHECKS) {
    const { exitCode, stdout, stderr } = await runCli(["doctor", "--explain", name]);
    expect([exitCode, stderr]).toEqual([0, ""]);
    expect(stdout).toMatch(new RegExp(`^${name}\\n\\n- Checks: [^]+\\n- Impact: [^]+\\n- Fix: `));
    expect(stdout).not.toMatch(/\]\(|docs\//);
  }
  const unknown = await runCli(["doctor", "--explain", "weather"]);
  expect([unknown.exitCode, unknown.stdout]).toEqual([2, ""]);
  expect(unknown.stderr).toContain("--explain takes one of servers, ");
});

const isLong = process.env["HEADGATE_LONG"] === "1";

describe("the Redis user of the page", () => {
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

  /** Returns the parts of a report that are the same in every run. */
  async function readableFacts(): Promise<readonly unknown[]> {
    const { statuses, worst } = await runDoctor(at, "--as", "headgate");
    const own = await runDoctor(at);
    return [statuses, worst("keys").message.includes("and take"), own.worst("permissions").message];
  }

  test("may read all facts, and change nothing", async () => {
    const { statuses } = await runDoctor(at, "--as", "headgate");
    expect(Object.values(statuses)).not.toContain("unknown");
    const user = new Redis(at, { enableReadyCheck: false, disableClientInfo: true });
    await expect(user.set("hg:{ann}", "")).rejects.toThrow("NOPERM");
    await expect(user.config("SET", "timeout", "1")).rejects.toThrow("NOPERM");
    user.disconnect();
  });

  // Runs only a few of them by default. The permissions for a cluster need a cluster.
  const tried = needed.filter((permission) => !permission.startsWith("+cluster"));
  test.each(isLong ? tried : tried.slice(0, 2))("needs the permission %s", async (permission) => {
    const all = await readableFacts();
    await admin.call("ACL", "SETUSER", "headgate-doctor", permission.replace("+", "-"));
    expect(await readableFacts()).not.toEqual(all);
    await admin.call("ACL", "SETUSER", "headgate-doctor", permission);
  });
});
