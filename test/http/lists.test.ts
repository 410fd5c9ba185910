import { mkdtempSync, rmSync } from "node:fs";
import { BlockList } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gcra } from "@headgate/core";
import { afterAll, expect, test, vi } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest, RunningSite, SharedOptions, Site } from "./support/framework.ts";

const limits = gcra({ limit: 1, window: "1h" });
const dir = mkdtempSync(join(tmpdir(), "headgate-lists-"));
afterAll(() => rmSync(dir, { recursive: true, force: true }));
let sockets = 0;

/** A list whose entries are where the tests' clients come from, and one of somebody else, in each form. */
const forms: readonly (readonly [
  string,
  SharedOptions["allowList"],
  SharedOptions["allowList"],
])[] = [
  ["an address", ["127.0.0.1"], ["127.0.0.2"]],
  ["a network", ["10.0.0.0/8", "127.0.0.0/8"], ["10.0.0.0/8", "::/0"]],
  ["IPv4 inside IPv6", ["::ffff:127.0.0.0/104"], ["64:ff9b::127.0.0.2"]],
  ["a net.BlockList", blockListOf("127.0.0.1"), blockListOf("127.0.0.2")],
  ["a function", (_, address) => address === "127.0.0.1", () => false],
  ["an async function", async (_, address) => address === "127.0.0.1", async () => false],
];

describeAdapters(({ serve }) => {
  const serving = (options: Partial<SharedOptions>, more: Partial<Site> = {}) =>
    serve({ limits: { limits, ...options }, ...more });

  const rateLimitFields = (response: Awaited<ReturnType<RunningSite["sendRequest"]>>) =>
    Object.keys(response.headers).filter((name) => /ratelimit|retry-after/.test(name));

  test.each(forms)("allowList, %s, never limits a client", async (_, listed, other) => {
    const { sendRequest } = await serving({ allowList: listed });
    for (let i = 0; i < 3; i += 1) {
      const response = await sendRequest();
      expect([response.status, rateLimitFields(response), response.json()]).toEqual([
        200,
        [],
        null,
      ]);
    }
    const limited = await serving({ allowList: other });
    expect((await limited.sendRequest()).status).toBe(200);
    expect((await limited.sendRequest()).status).toBe(429);
  });

  test.each(forms)("denyList, %s, refuses a client with 403", async (_, listed, other) => {
    const onDenied = vi.fn();
    const { sendRequest, handled, errors } = await serving({ denyList: listed, onDenied });
    const response = await sendRequest();
    expect(response.status).toBe(403);
    expect(response.headers["content-type"]).toBe("application/problem+json");
    expect(response.headers["cache-control"]).toBe("no-store");
    expect(rateLimitFields(response)).toEqual([]);
    expect(response.json()).toEqual({ type: "about:blank", title: "Forbidden", status: 403 });
    expect([handled, errors, onDenied.mock.calls]).toEqual([[], [], []]);
    expect((await (await serving({ denyList: other })).sendRequest()).status).toBe(200);
  });

  test('onDenied: "error" is not called for a client on denyList', async () => {
    const { sendRequest, errors } = await serving({ denyList: ["127.0.0.1"], onDenied: "error" });
    expect((await sendRequest("/", { method: "HEAD" })).status).toBe(403);
    expect(errors).toEqual([]);
  });

  test("denyList takes precedence over allowList, and skip is not called", async () => {
    const skip = vi.fn(() => true);
    const list = ["127.0.0.1"];
    expect(
      (await (await serving({ allowList: list, denyList: list, skip })).sendRequest()).status,
    ).toBe(403);
    expect((await (await serving({ allowList: list, skip })).sendRequest()).status).toBe(200);
    expect(skip).not.toHaveBeenCalled();
  });

  test("a client on denyList does not see the headers of earlier limiters", async () => {
    const first = { limits: gcra({ limit: 9, window: "1h", name: "first" }) };
    const { sendRequest } = await serve({ limits: [first, { limits, denyList: ["127.0.0.1"] }] });
    const response = await sendRequest();
    expect([response.status, rateLimitFields(response)]).toEqual([403, []]);
  });

  test("a list applies only to its own limiter", async () => {
    const first = { limits: gcra({ limit: 9, window: "1h", name: "first" }) };
    const { sendRequest } = await serve({ limits: [{ limits, allowList: ["127.0.0.1"] }, first] });
    for (const left of ["8", "7"]) {
      const response = await sendRequest();
      expect([response.status, response.headers["x-ratelimit-remaining"]]).toEqual([200, left]);
    }
  });

  test("lists check the full address that proxies report", async () => {
    const { sendRequest } = await serving(
      { denyList: ["203.0.113.7", "2001:db8::7"] },
      { trustProxy: "127.0.0.1" },
    );
    const from = async (address: string) =>
      (await sendRequest("/", { headers: { "x-forwarded-for": address } })).status;
    expect(await from("203.0.113.7")).toBe(403);
    expect(await from("::ffff:203.0.113.7")).toBe(403);
    expect(await from("64:ff9b::cb00:7107")).toBe(403);
    expect(await from("203.0.113.8")).toBe(200);
    expect(await from("2001:db8::7")).toBe(403);
    expect(await from("2001:db8::8")).toBe(200);
  });

  test("lists check the address of the option address", async () => {
    const allowList = vi.fn(() => false);
    const address = { header: "cf-connecting-ip", trust: ["127.0.0.1"] };
    const { sendRequest } = await serving({ address, allowList, denyList: ["203.0.113.7"] });
    const from = async (value: string) =>
      (await sendRequest("/", { headers: { "cf-connecting-ip": value } })).status;
    expect(await from("203.0.113.7")).toBe(403);
    expect(await from("2001:db8:0::9")).toBe(200);
    expect(allowList).toHaveBeenCalledExactlyOnceWith(expect.anything(), "2001:db8::9");
  });

  test("a list function gets the framework's request", async () => {
    const allowList = ({ headers }: AnyRequest) => headers["x-internal"] === "yes";
    const { sendRequest } = await serving({ allowList });
    const internal = { headers: { "x-internal": "yes" } };
    expect((await sendRequest("/", internal)).status).toBe(200);
    expect((await sendRequest("/", internal)).status).toBe(200);
    expect((await sendRequest()).status).toBe(200);
    expect((await sendRequest()).status).toBe(429);
  });

  test.each(["yes", 1, 0, null, undefined])(
    "a list function returning %s is an error, so that the request is not unlimited",
    async (returned) => {
      for (const option of ["allowList", "denyList"]) {
        const site = await serving({ [option]: () => returned as never });
        expect((await site.sendRequest()).status).toBe(500);
        expect(site.errors).toMatchObject([{ code: "HEADGATE_INVALID_OPTION" }]);
        expect(site.handled).toEqual([]);
      }
    },
  );

  test("a list function that throws or rejects passes its error to the error handler", async () => {
    for (const list of [failing, async () => failing()]) {
      for (const option of ["allowList", "denyList"]) {
        const site = await serving({ [option]: list });
        expect((await site.sendRequest()).status).toBe(500);
        expect(site.errors).toMatchObject([{ message: "no idea" }]);
        expect(site.handled).toEqual([]);
      }
    }
  });

  test("a request without an address is an error with a list of addresses", async () => {
    const path = join(dir, `${++sockets}.sock`);
    const key = () => "ann";
    const { sendRequest, errors, handled } = await serving(
      { key, denyList: ["1.2.3.4"] },
      { path },
    );
    expect((await sendRequest()).status).toBe(500);
    expect(errors).toMatchObject([{ code: "HEADGATE_NO_ADDRESS" }]);
    expect(handled).toEqual([]);
  });

  test("a list function gets a request without an address", async () => {
    const path = join(dir, `${++sockets}.sock`);
    const allowList = vi.fn(() => true);
    const { sendRequest } = await serving({ allowList }, { path });
    expect((await sendRequest()).status).toBe(200);
    expect(allowList).toHaveBeenCalledExactlyOnceWith(expect.anything(), undefined);
  });

  test.each([[["10.0.0.0/33"]], [["gateway.example"]], ["127.0.0.1"], [null], [{}]])(
    "an invalid list is rejected: %j",
    async (list) => {
      for (const option of ["allowList", "denyList"]) {
        await expect(serving({ [option]: list as never })).rejects.toMatchObject({
          code: "HEADGATE_INVALID_OPTION",
          message: expect.stringContaining(option),
        });
      }
    },
  );
});

function blockListOf(address: string): BlockList {
  const list = new BlockList();
  list.addAddress(address, "ipv4");
  return list;
}

function failing(): never {
  throw new Error("no idea");
}
