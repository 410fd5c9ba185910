import { Redis } from "ioredis";
import { afterAll, beforeAll, beforeEach, describe, expect, test } from "vitest";
import type { Role, ServerConnection } from "../../packages/cli/src/doctor/facts/facts.ts";
import { ROLES } from "../../packages/cli/src/doctor/facts/facts.ts";
import { readPermissions } from "../../packages/cli/src/doctor/facts/permissions.ts";
import { blocksOf, page } from "../docs/markdown.ts";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { issuesOf, paste, runDoctor } from "./run-doctor.ts";

/** The users that both pages create, in their order. */
const lines = ["docs/reference/redis.md", "docs/how-to/operate.md"].flatMap((path) =>
  blocksOf([page(path)], "text")
    .map(({ text }) => text.trim())
    .filter((text) => text.startsWith("ACL SETUSER")),
);

let server: RedisProcess;
let admin: Redis;
let at: string;

beforeAll(async () => {
  server = await startRedis({ port: true });
  admin = new Redis(server.socket);
  at = `redis://127.0.0.1:${server.port}`;
});
afterAll(async () => {
  admin.disconnect();
  await server.stop();
});
beforeEach(async () => {
  const users = (await admin.acl("USERS")) as string[];
  for (const user of users) if (user !== "default") await admin.acl("DELUSER", user);
});

async function setUser(...rules: readonly string[]): Promise<void> {
  await admin.call("ACL", "SETUSER", "app", "reset", "on", ">secret", ...rules);
}

/** The URL of that user. */
function asUser(): string {
  return at.replace("//", "//app:secret@");
}

function askerOf(client: Redis): ServerConnection {
  const call: ServerConnection["call"] = (command, ...args) => client.call(command, ...args);
  return { address: "", redisCliArgs: [], receivesDecisions: true, call };
}

function grants(role: Role): readonly string[] {
  return ["~hg:*", ...ROLES[role].map((command) => `+${command}`)];
}

describe("headgate doctor checks the permissions that the documentation grants", () => {
  test.each(["application", "reader", "operator"] as const)("to the role %s", (role) => {
    const line = lines[["application", "reader", "operator"].indexOf(role)] ?? "";
    const [, , , ...rules] = line.split(" ");
    expect(rules.slice(0, 4)).toEqual(["on", ">secret", "~hg:*", "-@all"]);
    const words = rules.slice(4).sort();
    expect(words).toEqual(ROLES[role].map((command) => `+${command}`).sort());
  });
});

describe("headgate doctor checks the permissions of another user by a dry run", () => {
  test.each(["application", "reader", "operator"] as const)(
    "and finds all of the role %s",
    async (role) => {
      await setUser(...grants(role));
      const all = await runDoctor(at, "--as", "app", "--role", role);
      expect(all.statuses["permissions"]).toBe("ok");
      expect(all.worst("permissions").message).toContain(`user app has all ${ROLES[role].length}`);
    },
  );

  test("each missing command is named, and the printed command grants it", async () => {
    await setUser("~hg:*");
    const nothing = await runDoctor(at, "--as", "app", "--role", "operator");
    const missing = ROLES.operator.map((command) => `+${command}`).join(" ");
    expect(nothing.worst("permissions")).toMatchObject({
      status: "problem",
      message: `user app lacks ${missing} for the role operator`,
    });
    await paste(nothing.worst("permissions").commands);
    const all = await runDoctor(at, "--as", "app", "--role", "operator");
    expect(all.statuses["permissions"]).toBe("ok");
  });

  test.each(ROLES.operator)("the missing command %s is found", async (command) => {
    await setUser(...grants("operator"), `-${command}`);
    const known = await readPermissions(askerOf(admin), "operator", "hg", "app");
    expect(known).toMatchObject({
      user: "app",
      deniedCommands: [command],
      deniesKeys: false,
      untestedCommands: [],
    });
  });

  test("missing access to the keys is named", async () => {
    await setUser("~other:*", ...grants("application").slice(1));
    const refused = await runDoctor(at, "--as", "app");
    expect(refused.worst("permissions").message).toContain("lacks ~hg:* for");
    await paste(refused.worst("permissions").commands);
    expect((await runDoctor(at, "--as", "app")).statuses["permissions"]).toBe("ok");
    const other = await runDoctor(at, "--as", "app", "--prefix", "other");
    expect(other.statuses["permissions"]).toBe("ok");
  });

  test("an unknown user is a problem", async () => {
    const nobody = await runDoctor(at, "--as", "nobody");
    expect(nobody.worst("permissions")).toMatchObject({
      status: "problem",
      message: "there is no user nobody",
      fix: expect.stringContaining("ACL SETUSER nobody on >secret ~hg:* -@all +evalsha"),
    });
  });
});

describe("headgate doctor checks the permissions of the connected user by trying commands", () => {
  test("an application has its permissions, and other facts are unknown", async () => {
    await setUser(...grants("application"));
    const alone = await runDoctor(asUser());
    expect(alone.worst("permissions")).toMatchObject({
      status: "ok",
      message: "the user of this command has all 22 commands of the role application, on ~hg:*",
    });
    expect(alone.statuses).toMatchObject({ latency: "ok", clock: "ok", "script-cache": "ok" });
    expect(alone.statuses["eviction"]).toBe("unknown");
    expect(alone.worst("eviction").fix).toContain("grant +info to");
    expect(alone.worst("idle-connections").fix).toContain("grant +config|get to");
    expect(alone.exitCode).toBe(0);
    expect(await admin.dbsize()).toBe(0);
  });

  test.each(ROLES.application)("the missing command %s is found", async (command) => {
    await setUser(...grants("application"), `-${command}`);
    const client = new Redis(asUser(), { enableReadyCheck: false, disableClientInfo: true });
    const known = await readPermissions(askerOf(client), "application", "hg", undefined);
    expect(known).toMatchObject({
      user: "",
      deniedCommands: [command],
      deniesKeys: false,
      untestedCommands: [],
    });
    client.disconnect();
  });

  test("missing access to the keys is named", async () => {
    await setUser("~other:*", ...grants("application").slice(1));
    expect((await runDoctor(asUser())).worst("permissions").message).toContain("lacks ~hg:* for");
  });

  test("a command that cannot be tried without a write is unknown", async () => {
    await setUser(...grants("operator").filter((rule) => rule !== "+acl|whoami"), "-acl|whoami");
    const withoutWhoami = await runDoctor(asUser(), "--role", "operator");
    expect(withoutWhoami.worst("permissions").message).toContain("lacks +acl|whoami");
    await setUser(...grants("operator"));
    const rest = await runDoctor(asUser(), "--role", "operator");
    expect(rest.worst("permissions")).toMatchObject({
      status: "unknown",
      message: expect.stringContaining(
        "user app has all commands of the role operator that can be tested; unknown: LPUSH",
      ),
    });
    expect(await admin.dbsize()).toBe(0);
  });
});

test("headgate doctor reports a renamed command as a problem", async () => {
  const renamed = await startRedis({ port: true, args: ["--rename-command", "EVALSHA", ""] });
  try {
    const found = await runDoctor(`redis://127.0.0.1:${renamed.port}`);
    expect(found.worst("permissions")).toMatchObject({
      status: "problem",
      message: "the server does not know EVALSHA",
    });
    await renamed.restart([]);
    expect(issuesOf(await runDoctor(`redis://127.0.0.1:${renamed.port}`))).toEqual([]);
  } finally {
    await renamed.stop();
  }
});
