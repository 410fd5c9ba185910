import { gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { AnyRequest, SharedOptions } from "./support/framework.ts";

const limits = gcra({ limit: 2, window: "1h" });

const byUser = ({ headers }: AnyRequest) => headers["x-user"] as string | undefined;

const as = (user: string) => ({ headers: { "x-user": user } });

describeAdapters(({ serve }) => {
  const serving = (options: Partial<SharedOptions>) => serve({ limits: { limits, ...options } });

  test.each([
    { kind: "a function", key: byUser },
    { kind: "an async function", key: async (request: AnyRequest) => byUser(request) },
    { kind: "a record", key: { default: byUser } },
  ])("$kind selects the client to count", async ({ key }) => {
    const { sendRequest } = await serving({ key });
    const statuses: number[] = [];
    for (const user of ["ann", "bob", "ann", "ann", "bob", "bob"]) {
      statuses.push((await sendRequest("/", as(user))).status);
    }
    expect(statuses).toEqual([200, 200, 200, 429, 200, 429]);
  });

  test.each([4.2, true, false, {}, [], ["ann"], Symbol("ann"), Number.NaN, () => "ann"])(
    "a key that is no text is an error, so that clients are neither unlimited nor share one bucket: %s",
    async (returned) => {
      const site = await serving({ key: () => returned as never });
      expect((await site.sendRequest()).status).toBe(500);
      expect(site.errors).toMatchObject([{ code: "HEADGATE_INVALID_KEY" }]);
      expect(site.errors[0]?.cause).toBe(returned);
      expect(site.errors[0]?.message).not.toMatch(/ann|4\.2/);
      expect(site.handled).toEqual([]);
    },
  );

  test("a whole number counts as its digits", async () => {
    const keys: unknown[] = [42, "42", 42n, 43];
    const site = await serving({ key: () => keys.shift() as never });
    const statuses: number[] = [];
    for (let i = 0; i < 4; i += 1) statuses.push((await site.sendRequest()).status);
    expect(statuses).toEqual([200, 200, 429, 200]);
  });

  test("a key function that throws or rejects passes its error to the error handler", async () => {
    const fail = () => {
      throw new Error("no session");
    };
    for (const key of [fail, async () => fail()]) {
      const site = await serving({ key });
      expect((await site.sendRequest()).status).toBe(500);
      expect(site.errors).toMatchObject([{ message: "no session" }]);
      expect(site.handled).toEqual([]);
    }
  });

  test("keys that are names of object members are ordinary keys", async () => {
    const { sendRequest } = await serving({ key: byUser });
    for (const user of ["__proto__", "constructor", "toString", "hasOwnProperty"]) {
      const statuses = [1, 2, 3].map(() => sendRequest("/", as(user)));
      expect((await Promise.all(statuses)).map(({ status }) => status)).toEqual([200, 200, 429]);
    }
  });

  test("keys that differ in one character are counted separately, however long or unusual they are", async () => {
    const keys = ["a", "A", " a", "a:", "a{", "{a}", "a%7b", "a\u0000", "é", "#", "~a", "~~a"];
    const long = ["x".repeat(4_000), `${"x".repeat(3_999)}y`];
    const { sendRequest } = await serving({ key: ({ url }) => decodeURIComponent(url.slice(2)) });
    for (const key of [...keys, ...long]) {
      const { headers } = await sendRequest(`/?${encodeURIComponent(key)}`);
      expect([key, headers["x-ratelimit-remaining"]]).toEqual([key, "1"]);
    }
  });
});
