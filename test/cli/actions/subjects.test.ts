import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fixedWindow, gcra } from "@headgate/core";
import { byHeader, byIp, combineKeys } from "@headgate/core/http";
import { afterAll, describe, expect, test } from "vitest";
import { describeAdapters } from "../../http/support/describe-frameworks.ts";
import type { SharedOptions } from "../../http/support/framework.ts";
import { writeRegistry } from "../../support/write-registry.ts";
import { useHeadgate } from "./use-headgate.ts";

const own = useHeadgate();
const limits = gcra({ limit: 100, window: "1h" });
const dir = mkdtempSync(join(tmpdir(), "headgate-subjects-"));
afterAll(() => rmSync(dir, { recursive: true }));

function file(name: string, text: string): string {
  writeFileSync(join(dir, name), text);
  return join(dir, name);
}

interface Case {
  readonly options: Partial<SharedOptions>;
  readonly headers: Readonly<Record<string, string>>;
  readonly args: readonly string[];
  readonly input?: string;
}

const V6 = { "x-forwarded-for": "2001:db8:1:2f4:5::7" };
const account = (req: { readonly headers: object }) =>
  (req.headers as Record<string, string>)["x-account"];

const cases: Record<string, Case> = {
  "an IPv4 address": {
    options: {},
    headers: { "x-forwarded-for": "203.0.113.7" },
    args: ["--ip", "203.0.113.7"],
  },
  "an IPv4 address inside IPv6": {
    options: {},
    headers: { "x-forwarded-for": "::ffff:203.0.113.7" },
    args: ["203.0.113.7"],
  },
  "an IPv6 address, with the prefix length in the registry": {
    options: { key: byIp({ ipv6Prefix: 56 }) },
    headers: V6,
    args: ["--ip", "2001:db8:1:2ff::99"],
  },
  "a header": {
    options: { key: byHeader("X-API-Key") },
    headers: { "x-api-key": "the key" },
    args: ["--header", "X-Api-Key"],
    input: "the key\n",
  },
  "a header and its hash secret, in two lines of standard input": {
    options: { key: byHeader("x-api-key", { hashSecret: "pepper" }) },
    headers: { "x-api-key": "the key" },
    args: ["--header", "x-api-key"],
    input: "the key\npepper\n",
  },
  "a header and its hash secret, in files": {
    options: { key: byHeader("x-api-key", { hashSecret: "pepper" }) },
    headers: { "x-api-key": "the key" },
    args: [
      ...["--header", "x-api-key", "--header-file", file("key", "\ufeffthe key\r\n")],
      ...["--hash-secret-file", file("secret", "pepper")],
    ],
  },
  "an address and an account together": {
    options: { key: combineKeys(byIp(), account) },
    headers: { ...V6, "x-account": "ann@example.org" },
    args: ["ann@example.org", "--ip", "2001:db8:1:2f4::1"],
  },
  "the subject that a key function returns": {
    options: { key: account },
    headers: { "x-account": "ann" },
    args: ["ann"],
  },
  "a request without a key": {
    options: { key: byHeader("x-api-key") },
    headers: { "x-forwarded-for": "203.0.113.7" },
    args: ["--ip", "203.0.113.7"],
  },
  "two dimensions": {
    options: {
      limits: [fixedWindow({ limit: 100, window: "1h", per: "ip" }), { ...limits, per: "account" }],
      key: { account },
    },
    headers: { ...V6, "x-account": "ann" },
    args: ["--ip", "2001:db8:1:2f4::1", "--subject", "account=ann"],
  },
};

describeAdapters((framework) => {
  test.each(Object.entries(cases))(
    "inspect and explain find the counters of %s",
    async (_, { options, headers, args, input = "" }) => {
      const store = own.store();
      const site = await framework.serve({
        limits: { name: "api", limits, store, ...options },
        trustProxy: true,
      });
      for (let i = 0; i < 2; i += 1) await site.sendRequest("/", { headers });
      await writeRegistry(store);
      const { limiters } = (await own.json(["inspect", ...args], { input })) as {
        limiters: { limits: { remaining: number }[] }[];
      };
      expect(limiters).toHaveLength(1);
      for (const { remaining } of limiters[0]?.limits ?? []) expect(remaining).toBe(98);
      const explained = await own.run(["explain", "--limiter", "api", ...args], { input });
      expect([explained.exitCode, explained.stderr]).toEqual([0, ""]);
      expect(explained.stdout).toContain("97 of 100 left afterwards");
    },
  );
});

describe("a subject that no limiter counts", () => {
  test.each<[string, Partial<SharedOptions>, readonly string[], string]>([
    ["a text for a header", { key: byHeader("x-api-key") }, ["ann"], "give --header x-api-key"],
    [
      "another header",
      { key: byHeader("x-api-key") },
      ["--header", "cookie"],
      "--header x-api-key",
    ],
    ["a text for an address", {}, ["ann"], "give --ip ADDRESS"],
    [
      "a text with an IPv6 address, which is counted by its prefix",
      {},
      ["2001:db8::7"],
      "give --ip ADDRESS",
    ],
    ["another dimension", {}, ["--subject", "tenant=acme"], "counts by default, not by tenant"],
    [
      "a header for a key function",
      { key: account },
      ["--header", "x-account"],
      "give --subject default=VALUE (as returned by the application's key function)",
    ],
    [
      "one part of a combined key",
      { key: combineKeys(byIp(), account) },
      ["--ip", "203.0.113.7"],
      "--ip ADDRESS with SUBJECT (as returned by the application's key function)",
    ],
  ])("is an error that names the needed option: %s", async (_, options, args, message) => {
    const { express5Framework } = await import("../../http/support/express-framework.ts");
    const store = own.store();
    await express5Framework.serve({
      limits: { name: "api", limits, store, missingKey: "reject", ...options },
    });
    await writeRegistry(store);
    const { exitCode, stdout, stderr } = await own.run(["inspect", ...args], { input: "value\n" });
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^headgate: .+\n$/);
    expect(stderr).toContain(message);
  });

  test.each<[readonly string[], string]>([
    [["--header", "x-api-key: s3cret"], "--header takes only the header's name"],
    [["a", "--header-file", "/nonexistent"], "give the name of the header with --header"],
    [["--header", "x-api-key", "--header-file", "/nonexistent"], "cannot read /nonexistent"],
    [["--header", "x-api-key"], "standard input has no value of x-api-key"],
    [["--ip", "localhost"], "--ip must be an IP address"],
    [["--subject", "=x"], "--subject must be dimension=value"],
    [["a", "--subject", "b"], "a value alone may be given once"],
    [[], "give a SUBJECT, --subject dimension=value, --ip or --header"],
    [["a", "--limits", "{}"], "give its name with --limiter"],
    [["a", "--limiter", "api", "--limits", "{"], "--limits must be JSON"],
    [["a", "--limiter", "api", "--limits", "@/nonexistent"], "cannot read /nonexistent"],
    [["a", "--limiter", "api", "--limits", "{}"], "HEADGATE_INVALID_LIMIT"],
    [["a", "--block-on", "settle"], "--block-on is for"],
    [["a"], "the registry has no limiters: give --limiter NAME"],
    [["a", "--limiter", "api"], 'no limiter "api" in the registry, which is empty'],
  ])("inspect %j is an error of one line, without the header's value", async (args, message) => {
    const { exitCode, stdout, stderr } = await own.run(["inspect", ...args]);
    expect([exitCode, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/^headgate: .+\n$/);
    expect(stderr).toContain(message);
    expect(stderr).not.toContain("s3cret");
  });
});
