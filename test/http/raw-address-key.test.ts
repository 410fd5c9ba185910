import { setImmediate } from "node:timers/promises";
import { fixedWindow } from "@headgate/core";
import { byIp, clientOf, combineKeys, createHttpGuard } from "@headgate/core/http";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest, SharedOptions } from "./support/framework.ts";

const limits = fixedWindow({ limit: 2, window: "1h" });

const apiKeyOf = ({ headers }: AnyRequest) => headers["x-api-key"] as string | undefined;

/** The key function that users of other limiters write. */
const byKeyOrAddress = (request: AnyRequest) => apiKeyOf(request) ?? request.ip;

/** Two addresses of one client's network, and one IPv4 client in both notations. */
const IPV6 = ["2001:db8:1:2::a", "2001:db8:1:2::b"];
const IPV4 = ["203.0.113.7", "::ffff:203.0.113.7"];

describeAdapters(({ serve }) => {
  /** The codes and messages that the operator is logged when requests come in from these addresses. */
  async function warningsAfter(
    addresses: readonly string[],
    options: Partial<SharedOptions>,
    headers: Record<string, string> = {},
  ): Promise<readonly { code: string; message: string }[]> {
    const { sendRequest, warnings } = await serve({
      limits: { limits, ...options },
      trustProxy: "loopback",
    });
    for (const address of addresses) {
      await sendRequest("/", { headers: { "x-forwarded-for": address, ...headers } });
    }
    // The process reports a warning in the turn after the one that made it.
    await setImmediate();
    return warnings;
  }

  const once = [{ code: "HEADGATE_RAW_ADDRESS_KEY" }];

  test.each<[string, SharedOptions["key"]]>([
    ["a function", byKeyOrAddress],
    ["an async function", async (request: AnyRequest) => byKeyOrAddress(request)],
    ["a template", (request: AnyRequest) => `ada@example.org|${request.ip}`],
    ["a part of a combined key", combineKeys(byKeyOrAddress, () => "ada") as SharedOptions["key"]],
  ])("a key that is or holds the raw address is reported once: %s", async (_, key) => {
    expect(await warningsAfter(IPV6, { key })).toMatchObject(once);
    expect(await warningsAfter(IPV4, { key })).toMatchObject(once);
  });

  test("the key of a dimension that is the raw address is reported with the dimension and the fix", async () => {
    const [warning] = await warningsAfter(IPV6, {
      limits: fixedWindow({ limit: 2, window: "1h", per: "client" }),
      key: { client: byKeyOrAddress },
    });
    expect(warning?.message).toMatch(/"client".*byIp\(\).*second argument/);
  });

  test.each<[string, SharedOptions["key"]]>([
    ["byIp", byIp()],
    ["each IPv6 address by itself, on purpose", byIp({ ipv6Prefix: 128 })],
    ["the second argument", (_, address) => address],
    ["a template with it", (_, address) => `ada@example.org|${address}`],
    ["byIp called in a function", (request) => byIp()(request, undefined)],
    ["another text", () => "2001:db8:1:2::c"],
  ])("a key that counts addresses as byIp does is not reported: %s", async (_, key) => {
    expect(await warningsAfter([...IPV6, ...IPV4], { key })).toEqual([]);
  });

  test("a raw IPv4 address, which byIp counts as it is, is not reported", async () => {
    expect(await warningsAfter(["203.0.113.7"], { key: byKeyOrAddress })).toEqual([]);
  });

  test("requests that bring their key are not reported", async () => {
    const headers = { "x-api-key": "ada" };
    expect(await warningsAfter(IPV6, { key: byKeyOrAddress }, headers)).toEqual([]);
  });
});

test("a guard reports a raw address once, and does not take user::1 for the address ::1", async () => {
  const warnings: string[] = [];
  const keys = ["user::1", "::1", "::1"];
  const guard = createHttpGuard(
    "rateLimit",
    { limits, key: () => keys.shift() },
    { warn: (code) => warnings.push(code) },
  );
  const request = { headers: {}, ip: "::1" };
  const client = clientOf("::1", {});
  await guard.check(request, client);
  expect(warnings).toEqual([]);
  await guard.check(request, client);
  await guard.check(request, client);
  expect(warnings).toEqual(["HEADGATE_RAW_ADDRESS_KEY"]);
});
