import { describe, expect, test } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import {
  combineSubjects,
  subjectOfAddress,
  subjectOfHeader,
  subjectOfMissingKey,
} from "../http/subject.ts";
import type { HttpUse, SubjectSource } from "../registry/record.ts";
import type { LimiterVersion } from "./limiter-versions.ts";
import type { SubjectQuery } from "./resolve-subjects.ts";
import { resolveSubjects, subjectSourcesOf } from "./resolve-subjects.ts";

const IP = { by: "ip", ipv6Prefix: 64 } as const;
const KEY = { by: "header", name: "x-key", hash: "sha256" } as const;
const SECRET_KEY = { ...KEY, hash: "hmac" } as const;
const MADE = { by: "function" } as const;

const ip = "203.0.113.7";
const header = { name: "x-key", value: "ada" };
const hashSecret = "a secret of 32 characters or more";

const use = (keys: HttpUse["keys"], missingKey: HttpUse["missingKey"] = "reject"): HttpUse =>
  ({ keys, missingKey }) as HttpUse;

/** A limiter that counts by some dimensions, used in some ways. */
function known(dimensions: readonly string[], uses: readonly HttpUse[] = []): LimiterVersion {
  const limits = dimensions.map((per) => fixedWindow({ limit: 1, window: "1m", name: per, per }));
  const limiter = {
    name: "api",
    limits,
    perCallPolicies: [],
    blockOn: "denial",
    shadow: false,
  } as const;
  return {
    limiter,
    perCallPolicies: [],
    uses,
    counterIdentity: "",
    hasOtherVersions: false,
  } as LimiterVersion;
}

const versionWith = (...sources: readonly SubjectSource[]): LimiterVersion =>
  known(
    ["default"],
    sources.map((source) => use({ default: source })),
  );

describe("the subjects of a client", () => {
  test.each<[string, LimiterVersion, SubjectQuery, readonly Record<string, string>[]]>([
    ["an address", versionWith(IP), { ip: "2001:db8::7" }, [{ default: "2001:db8::/64" }]],
    ["a header", versionWith(KEY), { header }, [{ default: subjectOfHeader("x-key", "ada") }]],
    ["another header", versionWith(KEY), { header: { name: "x-other", value: "ada" } }, []],
    [
      "a header, with the secret",
      versionWith(SECRET_KEY),
      { header, hashSecret: async () => hashSecret },
      [{ default: subjectOfHeader("x-key", "ada", { hashSecret }) }],
    ],
    ["a header, without the secret", versionWith(SECRET_KEY), { header }, []],
    [
      "a header, with a secret that is not known",
      versionWith(SECRET_KEY),
      { header, hashSecret: () => undefined },
      [],
    ],
    ["a text of an address", versionWith(IP), { text: ip }, [{ default: ip }]],
    ["a text that is no address", versionWith(IP), { text: "ada" }, []],
    ["a text of the application", versionWith(MADE), { text: "ada" }, [{ default: "ada" }]],
    ["a text, of two dimensions", known(["user", "tenant"]), { text: "ada" }, []],
    ["two ways, of which one fits", versionWith(IP, KEY), { ip }, [{ default: ip }]],
    ["two ways that are the same", versionWith(IP, IP), { ip }, [{ default: ip }]],
    [
      "two ways, each its own",
      versionWith(IP, { by: "ip", ipv6Prefix: 48 }),
      { ip: "2001:db8::7" },
      [{ default: "2001:db8::/64" }, { default: "2001:db8::/48" }],
    ],
    [
      "an address of an IPv4 network",
      versionWith({ by: "ip", ipv6Prefix: 64, ipv4Prefix: 24 }),
      { ip },
      [{ default: "203.0.113.0/24" }],
    ],
    [
      "named dimensions",
      known(["user", "tenant"]),
      { named: new Map([["tenant", "t"]]) },
      [{ tenant: "t" }],
    ],
    [
      "the rest of named ones",
      known(["user", "ip"]),
      { ip, named: new Map([["user", "u"]]) },
      [{ user: "u", ip }],
    ],
    [
      "no key, which counts by address",
      known(["default"], [use({ default: KEY }, "ip")]),
      { ip },
      [{ default: subjectOfMissingKey(ip) }],
    ],
    [
      "an address and another key",
      known(["default"], [use({ default: KEY }, "ip")]),
      { ip, header: { name: "x-other", value: "ada" } },
      [],
    ],
    ["no key, which is refused", versionWith(KEY), { ip }, []],
    ["all clients, not asked for", known(["default", "global"]), { ip }, [{ default: ip }]],
    [
      "a text like that of all clients, of a limiter of others, too",
      known(["default", "global"]),
      { text: "*" },
      [{ default: "*" }],
    ],
    ["all clients, of a limiter of nobody else", known(["global"]), { ip }, []],
    ["all clients, asked for", known(["global"]), { text: "*" }, [{ global: "*" }]],
    [
      "all clients, by name",
      known(["a", "global"]),
      { named: new Map([["global", "*"]]) },
      [{ global: "*" }],
    ],
    [
      "an address, where nobody listed how it is used",
      known(["default"]),
      { ip },
      [{ default: ip }],
    ],
  ])("are made of %s", async (_, limiter, client, subjects) => {
    expect(await resolveSubjects(limiter, client)).toEqual(subjects);
  });

  test.each<[string, readonly SubjectSource[], string | undefined, string | undefined]>([
    ["the application's", [IP, MADE], "ada", combineSubjects(subjectOfAddress(ip), "ada")],
    [
      "one that looks like Headgate's own",
      [IP, MADE],
      "~x",
      combineSubjects(subjectOfAddress(ip), "~~x"),
    ],
    ["none that is given", [IP, MADE], undefined, undefined],
    ["two of the application", [IP, MADE, MADE], "ada", undefined],
  ])("of several parts have %s", async (_, keys, text, subject) => {
    const client = { ip, text };
    const subjects = subject === undefined ? [] : [{ default: subject }];
    expect(await resolveSubjects(versionWith({ by: "combined", keys }), client)).toEqual(subjects);
  });

  test("need a secret only if a key has one", async () => {
    const asked: string[] = [];
    const client = {
      header,
      hashSecret: () => {
        asked.push("asked");
        return hashSecret;
      },
    };
    await resolveSubjects(versionWith(KEY), client);
    expect(asked).toEqual([]);
    await resolveSubjects(versionWith(SECRET_KEY), client);
    expect(asked).toEqual(["asked"]);
  });
});

test("the sources of a dimension are those of each registered use", () => {
  const limiter = known(["default"], [use({ default: IP }), use({})]);
  expect(subjectSourcesOf(limiter, "default")).toEqual([IP, undefined]);
  expect(subjectSourcesOf(known(["default"]), "default")).toEqual([undefined]);
});
