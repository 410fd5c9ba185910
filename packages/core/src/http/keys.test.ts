import { webcrypto } from "node:crypto";
import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import type { HeadgateError } from "../common/errors.ts";
import { escapeSubject } from "../common/key.ts";
import type { HttpRequest } from "./client.ts";
import type { KeyFunction } from "./keys.ts";
import { byHeader, byIp, describeKey } from "./keys.ts";
import type { ByHeaderOptions, ByIpOptions, SubjectText } from "./subject.ts";
import { formatSubject, parseKeyResult, subjectOfAddress, toOpaqueSubject } from "./subject.ts";

type Headers = HttpRequest["headers"];

async function subjectBy(
  key: KeyFunction,
  request: Partial<HttpRequest>,
  address?: string,
): Promise<SubjectText> {
  return parseKeyResult(await key({ headers: {}, ...request }, address));
}

function errorOf(make: () => unknown): HeadgateError {
  try {
    make();
  } catch (error) {
    return error as HeadgateError;
  }
  throw new Error("nothing was thrown");
}

describe("byIp", () => {
  test("byIp counts the address read when the request arrived, even if the request's address has changed", async () => {
    expect(await subjectBy(byIp(), { ip: "5.6.7.8" }, "1.2.3.4")).toBe("1.2.3.4");
    expect(await subjectBy(byIp(), { ip: undefined }, "1.2.3.4")).toBe("1.2.3.4");
  });

  test("byIp reads the request's address if it is called without one", async () => {
    expect(await subjectBy(byIp(), { ip: "::ffff:5.6.7.8" })).toBe("5.6.7.8");
  });

  test("byIp never reads a header itself", async () => {
    const headers = {
      "x-forwarded-for": "9.9.9.9",
      forwarded: "for=9.9.9.9",
      "x-real-ip": "9.9.9.9",
    };
    expect(await subjectBy(byIp(), { ip: "1.2.3.4", headers }, "1.2.3.4")).toBe("1.2.3.4");
    expect(await subjectBy(byIp(), { headers })).toBeUndefined();
  });

  test.each([[undefined], [""]])("byIp has no subject for the address %j", async (address) => {
    expect(await subjectBy(byIp(), { ip: address }, address)).toBeUndefined();
  });

  test("byIp counts IPv6 per /64 by default, or by ipv6Prefix", async () => {
    const address = "2001:db8:1:2:3:4:5:6";
    expect(await subjectBy(byIp(), {}, address)).toBe("2001:db8:1:2::/64");
    expect(await subjectBy(byIp({}), {}, address)).toBe("2001:db8:1:2::/64");
    expect(await subjectBy(byIp({ ipv6Prefix: undefined }), {}, address)).toBe("2001:db8:1:2::/64");
    expect(await subjectBy(byIp({ ipv6Prefix: 48 }), {}, address)).toBe("2001:db8:1::/48");
    expect(await subjectBy(byIp({ ipv6Prefix: 1 }), {}, address)).toBe("::/1");
    expect(await subjectBy(byIp({ ipv6Prefix: 128 }), {}, address)).toBe("2001:db8:1:2:3:4:5:6");
  });

  test("byIp counts IPv4 by address by default, or by ipv4Prefix, also where it is embedded in IPv6", async () => {
    for (const address of ["203.0.113.7", "::ffff:203.0.113.7", "64:ff9b::203.0.113.7"]) {
      expect(await subjectBy(byIp({ ipv4Prefix: undefined }), {}, address)).toBe("203.0.113.7");
      expect(await subjectBy(byIp({ ipv4Prefix: 32 }), {}, address)).toBe("203.0.113.7");
      expect(await subjectBy(byIp({ ipv4Prefix: 24 }), {}, address)).toBe("203.0.113.0/24");
      expect(await subjectBy(byIp({ ipv4Prefix: 1 }), {}, address)).toBe("128.0.0.0/1");
    }
  });

  test.each([[0], [33], [-1], [24.5], [Number.NaN], ["24"], [null], [24n]])(
    "byIp and subjectOfAddress reject the IPv4 prefix %s",
    (ipv4Prefix) => {
      for (const make of [byIp, (options: ByIpOptions) => subjectOfAddress("1.2.3.4", options)]) {
        const error = errorOf(() => make({ ipv4Prefix } as ByIpOptions));
        expect(error.code).toBe("HEADGATE_INVALID_OPTION");
        expect(error.message).toMatch(/ipv4Prefix must be a whole number from 1 to 32, got/);
      }
    },
  );

  test.each([
    [0],
    [129],
    [-1],
    [1.5],
    [Number.NaN],
    [Number.POSITIVE_INFINITY],
    ["64"],
    [null],
    [true],
    [64n],
  ])("byIp rejects the prefix %s", (ipv6Prefix) => {
    const error = errorOf(() => byIp({ ipv6Prefix } as ByIpOptions));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toMatch(/byIp: ipv6Prefix .*1 to 128/);
    expect(error.message).toContain(typeof ipv6Prefix === "string" ? '"64"' : String(ipv6Prefix));
  });

  test.each([[{ prefix: 56 }], [{ ipv6Subnet: 56 }], [{ ipv6prefix: 56 }]])(
    "byIp rejects the unknown option of %j and names ipv6Prefix",
    (options) => {
      const error = errorOf(() => byIp(options as ByIpOptions));
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toContain(Object.keys(options)[0]);
      expect(error.message).toContain("ipv6Prefix");
    },
  );

  test.each([[null], [64], ["64"], [[64]]])("byIp rejects the options %j", (options) => {
    expect(errorOf(() => byIp(options as never)).code).toBe("HEADGATE_INVALID_OPTION");
  });

  test("keys of byIp are recognized by every copy of Headgate; other keys are not", () => {
    expect(describeKey(byIp()).countsAddress).toBe(true);
    expect(Object.getOwnPropertySymbols(byIp())).toContain(Symbol.for("@headgate/core.own-key"));
    expect(describeKey(byHeader("x-api-key")).countsAddress).toBe(false);
    expect(describeKey(() => "1.2.3.4").countsAddress).toBe(false);
  });
});

/** SHA-256 and HMAC by another implementation than the code's. */
async function digest(text: string, secret?: string): Promise<string> {
  const { subtle } = webcrypto;
  const bytes = new TextEncoder().encode(text);
  if (secret === undefined) return encode(await subtle.digest("SHA-256", bytes));
  const algorithm = { name: "HMAC", hash: "SHA-256" };
  const raw = new TextEncoder().encode(secret);
  const key = await subtle.importKey("raw", raw, algorithm, false, ["sign"]);
  return encode(await subtle.sign("HMAC", key, bytes));
}

function encode(bytes: ArrayBuffer): string {
  const base64 = btoa(String.fromCharCode(...new Uint8Array(bytes)));
  return base64.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
}

function fromHex(hex: string): string {
  return encode(
    new Uint8Array(hex.match(/../g)?.map((byte) => Number.parseInt(byte, 16)) ?? []).buffer,
  );
}

describe("byHeader", () => {
  const key = byHeader("x-api-key");

  function by(headers: Headers, options?: ByHeaderOptions): Promise<SubjectText> {
    return subjectBy(options ? byHeader("x-api-key", options) : key, { headers });
  }

  test("byHeader hashes with SHA-256 (the example of FIPS 180)", async () => {
    const hash = fromHex("ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(await by({ "x-api-key": "abc" })).toBe(`~sha256~${hash}`);
  });

  test("byHeader hashes with HMAC-SHA-256 if there is a secret (RFC 4231, test case 2)", async () => {
    const hash = fromHex("5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
    const headers = { "x-api-key": "what do ya want for nothing?" };
    expect(await by(headers, { hashSecret: "Jefe" })).toBe(`~hmac~${hash}`);
  });

  test.prop([
    fc.string({ minLength: 1 }),
    fc.option(fc.string({ minLength: 1 }), { nil: undefined }),
  ])("byHeader hashes any value", async (value, hashSecret) => {
    const kind = hashSecret === undefined ? "sha256" : "hmac";
    const subject = await by({ "x-api-key": value }, { hashSecret });
    expect(subject).toBe(`~${kind}~${await digest(value, hashSecret)}`);
  });

  test("byHeader gives other subjects with another secret or without one", async () => {
    const headers = { "x-api-key": "k" };
    const subjects = [
      await by(headers),
      await by(headers, { hashSecret: "a" }),
      await by(headers, { hashSecret: "b" }),
    ];
    expect(new Set(subjects).size).toBe(3);
  });

  test("byHeader never shows the value, and its subject has the same length for 12,000 bytes as for one", async () => {
    const short = (await by({ "x-api-key": "k" })) as string;
    for (const length of [100, 12_000, 1_000_000]) {
      const subject = (await by({ "x-api-key": "k".repeat(length) })) as string;
      expect(subject).toHaveLength(short.length);
      expect(subject).not.toContain("kkkk");
      // Short enough to stand in a Redis key as it is.
      expect(escapeSubject(subject)).toBe(subject);
    }
    expect(short.length).toBeLessThanOrEqual(64);
  });

  test.each<[string, Headers]>([
    ["absent", {}],
    ["undefined", { "x-api-key": undefined }],
    ["empty", { "x-api-key": "" }],
    ["an empty list", { "x-api-key": [] }],
    ["a list of an empty value", { "x-api-key": [""] }],
    ["another one", { "x-api-keys": "k", "api-key": "k" }],
  ])("byHeader has no subject if the header is %s", async (_, headers) => {
    expect(await by(headers)).toBeUndefined();
  });

  test("byHeader reads a repeated header as one comma-separated list, as Node joins it", async () => {
    expect(await by({ "x-api-key": ["a", "b"] })).toBe(await by({ "x-api-key": "a, b" }));
    expect(await by({ "x-api-key": ["a"] })).toBe(await by({ "x-api-key": "a" }));
    expect(await by({ "x-api-key": ["a", "b"] })).not.toBe(await by({ "x-api-key": ["b", "a"] }));
    expect(await by({ "x-api-key": ["a", "b"] })).not.toBe(await by({ "x-api-key": "a" }));
    expect(await by({ "x-api-key": ["ab"] })).not.toBe(await by({ "x-api-key": ["a", "b"] }));
  });

  test("byHeader ignores the case of the name, but not of the value", async () => {
    const headers = { "x-api-key": "k" };
    for (const name of ["X-API-Key", "x-api-key", "X-Api-Key"]) {
      expect(await subjectBy(byHeader(name), { headers })).toBe(await by(headers));
    }
    expect(await by({ "x-api-key": "K" })).not.toBe(await by(headers));
  });

  test.each(["constructor", "__proto__", "toString", "hasOwnProperty", "valueOf"])(
    "byHeader does not read the inherited property %s",
    async (name) => {
      expect(await subjectBy(byHeader(name), { headers: {} })).toBeUndefined();
    },
  );

  test.each(["x-api-key", "Authorization", "a", "x".repeat(64), "!#$%&'*+-.^_`|~09"])(
    "byHeader accepts the name %j",
    (name) => {
      expect(() => byHeader(name)).not.toThrow();
    },
  );

  test.each([
    [""],
    [" "],
    ["x api key"],
    ["x-api-key "],
    ["x-api-key:"],
    ["x-api-key\n"],
    ["x-api-key\r\nset-cookie: a"],
    ["x\0"],
    ["clé"],
    ["(x)"],
    ['"x"'],
    ["x/y"],
    ["x".repeat(65)],
    [undefined],
    [null],
    [5],
    [["x-api-key"]],
    [{ name: "x-api-key" }],
    [/x-api-key/],
  ])("byHeader rejects the name %j", (name) => {
    const error = errorOf(() => byHeader(name as string));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toMatch(/^byHeader: name must be a header name, got \S/);
    expect(error.message).not.toMatch(/[\r\n\0]/);
  });

  test.each([
    [""],
    [null],
    [5],
    [true],
    [["a-secret-value"]],
    [Buffer.from("a-secret-value")],
    [{ secret: "a-secret-value" }],
  ])("byHeader rejects the secret %j without showing it", (hashSecret) => {
    const error = errorOf(() => byHeader("x-api-key", { hashSecret } as never));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toContain("hashSecret must be a non-empty string");
    expect(error.message).not.toContain("a-secret-value");
    expect(error.message).not.toContain("97,45");
  });

  test.each([[{ secret: "s" }], [{ hmac: "s" }], [{ hash: "sha1" }], [null], ["s"], [["s"]]])(
    "byHeader rejects the options %j",
    (options) => {
      const error = errorOf(() => byHeader("x-api-key", options as never));
      expect(error.code).toBe("HEADGATE_INVALID_OPTION");
      expect(error.message).toContain("byHeader");
    },
  );
});

describe("custom key functions", () => {
  test.prop([
    fc.string({ minLength: 1 }),
    fc.oneof(
      fc.string({ minLength: 1 }),
      fc.string({
        unit: fc.constantFrom("~", "sha256", "hmac", "ip", "1.2.3.4"),
        minLength: 1,
        maxLength: 5,
      }),
    ),
  ])(
    "a custom subject never equals a hashed header or an address that replaces a missing key",
    async (value, own) => {
      const headers = { "x-api-key": value };
      const hashed = await subjectBy(byHeader("x-api-key"), { headers });
      const signed = await subjectBy(byHeader("x-api-key", { hashSecret: "s" }), { headers });
      const fallback = parseKeyResult(toOpaqueSubject(formatSubject("ip", value)));
      for (const text of [own, value, hashed as string, signed as string, fallback as string]) {
        const subject = await subjectBy(() => text, {});
        expect([hashed, signed, fallback]).not.toContain(subject);
      }
    },
  );

  test("a client that may name its own address cannot choose the subject of a custom key", async () => {
    const headers = { "x-api-key": "k" };
    const hashed = (await subjectBy(byHeader("x-api-key"), { headers })) as string;
    expect(await subjectBy(byIp(), {}, hashed)).not.toBe(hashed);
    expect(await subjectBy(byIp(), {}, "~ip~1.2.3.4")).not.toBe("~ip~1.2.3.4");
  });

  test("a custom key function may fall back to byIp()", async () => {
    const key: KeyFunction = (request, address) =>
      byHeader("x-api-key")(request, address) ?? byIp()(request, address);
    expect(await subjectBy(key, { headers: { "x-api-key": "k" } }, "1.2.3.4")).toMatch(/^~sha256~/);
    expect(await subjectBy(key, {}, "::ffff:1.2.3.4")).toBe("1.2.3.4");
  });
});
