import { createLimiter, gcra } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { byHeader, createHttpGuard } from "@headgate/core/http";
import { expect, onTestFinished, test } from "vitest";
import { writeRegistry } from "../../support/write-registry.ts";
import { expectDocument } from "../json-schema.ts";
import { useHeadgate } from "./use-headgate.ts";

const own = useHeadgate();
const limits = gcra({ limit: 3, window: "1h" });

async function json(args: readonly string[]): Promise<unknown> {
  const { stdout } = await own.run([...args, "--json"]);
  return expectDocument("deny-list", stdout);
}

test("headgate deny-list adds, lists, replaces and removes a network, and logs it", async () => {
  const add = ["deny-list", "add", "203.0.113.9/24", "--for", "1h", "--reason", "flood"];
  const dry = await own.run([...add, "--dry-run"]);
  expect(dry.stdout).toContain("203.0.113.9/24: would deny-list add");
  expect((await own.run(["deny-list"])).stderr).toContain("the deny list is empty");
  const added = await own.run([...add, "--by", "ann"]);
  expect(added).toMatchObject({ exitCode: 0 });
  expect(added.stdout).toMatch(/now: 203\.0\.113\.0\/24 until .*, in 1 h, by ann: flood/);
  expect(added.stdout).toContain("in force everywhere by");
  const listed = await own.run(["deny-list"]);
  expect(listed.stdout).toMatch(/203\.0\.113\.0\/24 +in 1 h +ann +flood/);
  expect(await json(["deny-list"])).toMatchObject({
    entries: [{ network: "203.0.113.0/24", reason: "flood", by: "ann" }],
  });
  expect(await json(["deny-list", "add", "203.0.113.0/24", "--forever"])).toMatchObject({
    action: "deny-list add",
    done: [{ before: { reason: "flood" }, after: { until: null } }],
  });
  expect((await own.run(["log"])).stdout).toMatch(/deny-list add +\(all\) +203\.0\.113\.0\/24/);
  const removed = await own.run(["deny-list", "remove", "::ffff:203.0.113.0/120"]);
  expect(removed.stdout).toContain("now: not on the deny list");
  expect(await json(["deny-list"])).toEqual({ entries: [] });
});

test.each([
  ["example.com", "an address or a network"],
  ["0.0.0.0/0", "at least 8"],
  ["2000::/3", "at least 16"],
])("headgate deny-list rejects %s", async (network, why) => {
  const { exitCode, stderr } = await own.run(["deny-list", "add", network]);
  expect(exitCode).toBe(2);
  expect(stderr).toContain(why);
});

test("inspect and explain show that an address is on the deny list", async () => {
  const store = own.store();
  const guard = createHttpGuard("test", { name: "api", store, limits });
  onTestFinished(() => guard.close());
  await writeRegistry(store);
  await createAdmin(store).addToDenyList("203.0.113.0/24", { reason: "flood", by: "ann" });
  const client = ["--ip", "203.0.113.7", "--limiter", "api"];
  const inspected = await own.run(["inspect", ...client]);
  expect(inspected.stdout).toContain("203.0.113.7 is on the deny list: 403 in every HTTP limiter");
  for (const command of ["inspect", "explain"]) {
    const { stdout } = await own.run([command, ...client, "--json"]);
    expect(expectDocument(command, stdout)).toMatchObject({
      denyList: [{ network: "203.0.113.0/24" }],
    });
  }
  const explained = await own.run(["explain", ...client]);
  expect(explained.exitCode).toBe(1);
  expect(explained.stdout.replace(/until .*?, in .*?,/, "until TIME,")).toBe(
    `203.0.113.7 is on the deny list: 403 in every HTTP limiter
  203.0.113.0/24 until TIME, by ann: flood
  limiters with the address in their own allowList still admit it
api: 203.0.113.7 would be denied now
  the deny list decides; its limits would allow it
  3-per-1h: 0 of 3 used
`,
  );
  const other = await own.run(["explain", "--ip", "198.51.100.7", "--limiter", "api"]);
  expect(other.exitCode).toBe(0);
  expect(other.stdout).not.toContain("deny list");
});

interface Explained {
  readonly allowed: boolean;
  readonly onDenyList: boolean;
  readonly decision: { readonly allowed: boolean };
}

test("explain says for each limiter whether the deny list or the limits deny, and leaves the deny list out where no HTTP request counts", async () => {
  const store = own.store();
  const guard = createHttpGuard("test", { name: "api", store, limits });
  const jobs = createLimiter({ name: "jobs", store, limits });
  onTestFinished(() => Promise.all([guard.close(), jobs.close()]).then(() => {}));
  await writeRegistry(store);
  const admin = createAdmin(store);
  const address = "203.0.113.7";
  await admin.addToDenyList(address, { for: "forever" });
  const explain = async (limiter: string) => {
    const { exitCode, stdout } = await own.run(["explain", address, "--limiter", limiter]);
    const document = await own.json(["explain", address, "--limiter", limiter]);
    const [first] = (document as { explanations: Explained[] }).explanations;
    return {
      exitCode,
      stdout,
      verdict: [first?.allowed, first?.onDenyList, first?.decision.allowed],
    };
  };
  const ofJobs = await explain("jobs");
  expect(ofJobs).toMatchObject({ exitCode: 0, verdict: [true, false, true] });
  expect(ofJobs.stdout).toContain("jobs: 203.0.113.7 would be allowed now");
  expect(ofJobs.stdout).not.toContain("the deny list decides");
  expect(await explain("api")).toMatchObject({ exitCode: 1, verdict: [false, true, true] });
  await admin.block({ name: "api", limits }, address, "1h");
  const blocked = await explain("api");
  expect(blocked).toMatchObject({ exitCode: 1, verdict: [false, true, false] });
  expect(blocked.stdout).toContain("the deny list decides; its limits would deny it, too");
  expect(blocked.stdout).not.toContain("it will be allowed at");
});

test("block --all names the limiters that it skips, and the reason", async () => {
  const store = own.store();
  const guard = createHttpGuard("test", { name: "api", store, limits });
  const byUser = createHttpGuard("test", {
    name: "orders",
    store,
    limits: gcra({ limit: 3, window: "1h", per: "customer" }),
    key: { customer: () => "ann" },
  });
  const byHeaderOnly = createHttpGuard("test", {
    name: "plans",
    store,
    limits: gcra({ limit: 3, window: "1h", per: "customer" }),
    key: { customer: byHeader("x-customer") },
    missingKey: "reject",
  });
  const plain = createLimiter({ name: "mails", store, limits: { ...limits, per: "tenant" } });
  for (const one of [guard, byUser, byHeaderOnly, plain]) onTestFinished(() => one.close());
  await writeRegistry(store);
  const block = ["block", "--ip", "203.0.113.7", "1h", "--all", "--yes"];
  const { exitCode, stdout } = await own.run(block);
  expect(exitCode).toBe(0);
  expect(stdout).toContain(
    "skipped orders, which counts by customer: the action covers only its requests without that key",
  );
  expect(stdout).toContain("skipped plans, which counts by customer: give --header x-customer");
  expect(stdout).toContain("skipped mails, which counts by tenant");
  expect(stdout).toContain("headgate deny-list add 203.0.113.7 --for 1h");
  const { stdout: document } = await own.run([...block, "--json"]);
  expect(expectDocument("block", document)).toMatchObject({
    done: [{ limiter: "api" }, { limiter: "orders" }],
    skipped: [
      { limiter: "mails", reason: expect.stringContaining("tenant") },
      { limiter: "orders", reason: expect.stringContaining("without that key") },
      { limiter: "plans", reason: expect.stringContaining("x-customer") },
    ],
  });
});
