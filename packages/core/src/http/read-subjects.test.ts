import { describe, expect, test, vi } from "vitest";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import type { HeadgateError } from "../common/errors.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { requireLimiter } from "../limiter/limiter-internals.ts";
import type { Client, HttpRequest } from "./client.ts";
import type { GuardOptions, MissingKey } from "./guard-options.ts";
import type { KeyFunction } from "./keys.ts";
import { byHeader, byIp } from "./keys.ts";
import { createSubjectReader } from "./read-subjects.ts";
import type { RequestContext } from "./request-context.ts";

type Key = GuardOptions<HttpRequest>["key"];

const client: Client = { address: "1.2.3.4", peer: "10.0.0.1", isDisconnected: () => false };
const nobody: Client = { ...client, address: undefined };
const gone: Client = { ...nobody, isDisconnected: () => true };

function readerOf(dimensions: readonly string[], key?: Key, missingKey: MissingKey = "ip") {
  const limits = dimensions.map((per) => fixedWindow({ limit: 1, window: "1m", per }));
  const limiter = requireLimiter(createLimiter({ limits }));
  return createSubjectReader("rateLimit", limiter, { key, missingKey }, vi.fn());
}

/** What is read of a request that carries nothing but headers. */
async function read(
  reader: ReturnType<typeof readerOf>,
  from: Client = client,
  headers: HttpRequest["headers"] = {},
): Promise<object> {
  return readRequest(reader, { headers, ip: from.address }, from);
}

async function readRequest(
  { read }: ReturnType<typeof readerOf>,
  request: HttpRequest,
  from: Client,
): Promise<object> {
  const context = { request, client: from } as RequestContext<HttpRequest>;
  // Spread, because subjects have no prototype.
  return { ...((await read(context)) ?? context.subjects) };
}

function errorOf(make: () => unknown): HeadgateError {
  try {
    make();
  } catch (error) {
    return error as HeadgateError;
  }
  throw new Error("nothing was thrown");
}

describe("keys of dimensions", () => {
  test("the default key is the address", async () => {
    expect(await read(readerOf(["default"]))).toEqual({ default: "1.2.3.4" });
    expect(await read(readerOf(["ip"]))).toEqual({ ip: "1.2.3.4" });
  });

  test("one key function is enough for limits without a dimension", async () => {
    expect(await read(readerOf(["default"], () => "user-1"))).toEqual({ default: "user-1" });
    expect(await read(readerOf(["default"], async () => "user-1"))).toEqual({ default: "user-1" });
    const named = { default: () => "user-2" };
    expect(await read(readerOf(["default"], named))).toEqual({ default: "user-2" });
  });

  test('a record gives each dimension its key function, and per: "ip" defaults to the address', async () => {
    const key = { tenant: () => "acme", apiKey: byHeader("x-api-key") };
    const reader = readerOf(["tenant", "apiKey", "ip", "global"], key);
    const subjects = await read(reader, client, { "x-api-key": "k" });
    expect(subjects).toEqual({
      tenant: "acme",
      ip: "1.2.3.4",
      apiKey: expect.stringMatching(/^~sha256~[\w-]{43}$/),
    });
    expect(await read(readerOf(["ip"], { ip: byIp({ ipv6Prefix: 128 }) }))).toEqual({
      ip: "1.2.3.4",
    });
    // One function speaks for limits without a dimension only.
    expect(await read(readerOf(["default", "ip"], () => "user-1"))).toEqual({
      default: "user-1",
      ip: "1.2.3.4",
    });
  });

  test("a key function is called only for dimensions that are counted", async () => {
    const key = { tenant: () => "acme", user: vi.fn(() => "user-1") };
    await read(readerOf(["tenant", "global"], key));
    expect(key.user).not.toHaveBeenCalled();
  });

  test("a key function gets the request and the address read first", async () => {
    const key = vi.fn(() => "user-1");
    const request = { headers: {}, ip: "5.6.7.8" };
    await readRequest(readerOf(["default"], key), request, client);
    expect(key.mock.calls).toEqual([[request, "1.2.3.4"]]);
    expect(await readRequest(readerOf(["default"]), request, client)).toMatchObject({
      default: "1.2.3.4",
    });
  });

  test.each([
    ["tenant", undefined],
    ["tenant", byIp()],
    ["tenant", { tennant: byIp() }],
    ["constructor", {}],
    ["toString", { user: byIp() }],
    ["__proto__", { user: byIp() }],
  ] as [string, Key][])("a limit per %s needs a key, not %j", (dimension, key) => {
    const error = errorOf(() => readerOf([dimension], key));
    expect(error.code).toBe("HEADGATE_INVALID_OPTION");
    expect(error.message).toContain(`"${dimension}"`);
    expect(error.message).toContain(`key: { ${dimension}: `);
  });

  test("the dimension global takes no key", async () => {
    const key = vi.fn(() => "user-1");
    expect(await read(readerOf(["global"], { global: key }))).toEqual({});
    expect(key).not.toHaveBeenCalled();
  });
});

describe("missing keys", () => {
  const missing: [string, KeyFunction<HttpRequest>][] = [
    ["undefined", () => undefined],
    ["null", () => null],
    ["empty", () => ""],
    ["undefined later", async () => undefined],
    ["an absent header", byHeader("x-api-key")],
  ];

  test.each(missing)(
    'missingKey: "ip" counts the address in a bucket that no key can have (%s)',
    async (_, key) => {
      expect(await read(readerOf(["default"], key))).toEqual({ default: "~ip~1.2.3.4" });
      const imitated = await read(readerOf(["default"], () => "~ip~1.2.3.4"));
      expect(imitated).not.toEqual({ default: "~ip~1.2.3.4" });
    },
  );

  test.each(missing)('missingKey: "reject" refuses the request (%s)', async (_, key) => {
    expect(await read(readerOf(["default"], key, "reject"))).toMatchObject({
      kind: "refused",
      rejection: { status: 400 },
    });
  });

  test.each(missing)('missingKey: "skip" leaves the limits out (%s)', async (_, key) => {
    const reader = readerOf(["user", "tenant"], { user: key, tenant: () => "acme" }, "skip");
    expect(await read(reader)).toEqual({ user: null, tenant: "acme" });
  });

  test("requests without a key never share one bucket", async () => {
    const reader = readerOf(["default"], () => undefined);
    const other = { ...client, address: "5.6.7.8" };
    expect(await read(reader, client)).not.toEqual(await read(reader, other));
  });

  test("a missing key counts an IPv6 client by its network, and a mapped address as IPv4", async () => {
    const reader = readerOf(["default"], () => undefined);
    const at = (address: string) => read(reader, { ...client, address });
    expect(await at("2001:db8::1")).toEqual({ default: "~ip~2001:db8::/64" });
    expect(await at("::ffff:1.2.3.4")).toEqual({ default: "~ip~1.2.3.4" });
  });

  test("the response names the first dimension without a key", async () => {
    const key = { tenant: () => "acme", user: () => "", plan: () => "" };
    const verdict = await read(readerOf(["tenant", "user", "plan"], key, "reject"));
    expect(JSON.stringify(verdict)).toContain("user");
    expect(JSON.stringify(verdict)).not.toContain("plan");
  });
});

describe("invalid keys", () => {
  test.each([
    [5.5, "a fraction"],
    [2 ** 53, "a number that is not exact: give it as text"],
    [false, "a boolean"],
    [true, "a boolean"],
    [Number.NaN, "NaN"],
    [["user-1"], "an array"],
    [{ id: "user-1" }, "an object"],
    [{}, "an object"],
    [Symbol("user"), "a symbol"],
    [() => "user-1", "a function"],
  ])("an invalid key is an error, whatever missingKey is: %s", async (value, received) => {
    for (const missing of ["ip", "reject", "skip"] as const) {
      for (const key of [() => value, async () => value]) {
        const reader = readerOf(["user"], { user: key as unknown as () => string }, missing);
        const error = await Promise.resolve(read(reader)).catch((thrown: unknown) => thrown);
        expect(error).toMatchObject({
          code: "HEADGATE_INVALID_KEY",
          message: `rateLimit: the key of "user" must be a string or a whole number, got ${received}`,
        });
        expect((error as Error).cause).toBe(value);
      }
    }
  });
});

describe("requests without an address", () => {
  const keys: [string, Key][] = [
    ["that is counted by address", undefined],
    ["that lacks its key", () => undefined],
  ];

  test.each(keys)(
    "%s: a request without an address is an error that names the fix",
    async (_, key) => {
      for (const from of [nobody, { ...nobody, address: "" }]) {
        await expect(read(readerOf(["default"], key), from)).rejects.toMatchObject({
          code: "HEADGATE_NO_ADDRESS",
          message: expect.stringMatching(/unix socket.*trust the proxy.*key function of your own/),
        });
      }
    },
  );

  test.each(keys)(
    "%s: a request without an address is dropped if the client has disconnected",
    async (_, key) => {
      expect(await read(readerOf(["default"], key), gone)).toEqual({ kind: "disconnected" });
    },
  );

  test("a request without an address is counted by a key that needs none", async () => {
    expect(
      await read(
        readerOf(["default"], () => "user-1"),
        nobody,
      ),
    ).toEqual({
      default: "user-1",
    });
  });

  test.each<MissingKey>(["skip", "reject"])(
    "a request without an address is an error, even with missingKey: %s",
    async (missing) => {
      await expect(read(readerOf(["ip"], undefined, missing), nobody)).rejects.toMatchObject({
        code: "HEADGATE_NO_ADDRESS",
      });
    },
  );

  test("a custom key function may throw before the address is needed", async () => {
    const key = () => Promise.reject(new Error("no session"));
    await expect(read(readerOf(["default"], key), nobody)).rejects.toThrow("no session");
  });
});

describe("usesAddress of keys", () => {
  test.each<[boolean, readonly string[], Key, MissingKey]>([
    [true, ["default"], undefined, "reject"],
    [true, ["default"], byIp(), "skip"],
    [true, ["ip"], { user: () => "u" }, "skip"],
    [true, ["user"], { user: () => "u" }, "ip"],
    [true, ["user", "ip"], { user: () => "u" }, "reject"],
    [false, ["user"], { user: () => "u" }, "reject"],
    [false, ["user"], { user: byHeader("x-api-key") }, "skip"],
    [false, ["global"], undefined, "ip"],
    [false, ["user", "global"], { user: () => "u" }, "reject"],
  ])("usesAddress is %s, with limits per %j", (used, dimensions, key, missing) => {
    expect(readerOf(dimensions, key, missing).usesAddress).toBe(used);
  });
});
