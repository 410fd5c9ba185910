import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { gcra } from "@headgate/core";
import { byHeader } from "@headgate/core/http";
import { afterAll, expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { SharedOptions, Site } from "./support/framework.ts";

const limits = gcra({ limit: 1, window: "1h" });

describeAdapters(({ serve }) => {
  const dir = mkdtempSync(join(tmpdir(), "headgate-http-"));
  afterAll(() => rmSync(dir, { recursive: true, force: true }));
  let sockets = 0;

  const serving = (options: Partial<SharedOptions>, more: Partial<Site> = {}) =>
    serve({ limits: { limits, ...options }, path: join(dir, `${++sockets}.sock`), ...more });

  test("a request over a unix socket is an error that names the fix, so that clients do not share one bucket", async () => {
    const { sendRequest, errors, handled } = await serving({});
    expect((await sendRequest()).status).toBe(500);
    expect(errors).toMatchObject([
      { code: "HEADGATE_NO_ADDRESS", message: expect.stringMatching(/trust.*key/s) },
    ]);
    expect(handled).toEqual([]);
  });

  test("a request over a unix socket is counted by a custom key", async () => {
    const { sendRequest, errors } = await serving({ key: byHeader("x-user") });
    const headers = { "x-user": "ann" };
    expect((await sendRequest("/", { headers })).status).toBe(200);
    expect((await sendRequest("/", { headers })).status).toBe(429);
    expect(errors).toEqual([]);
  });

  test("a missing key over a unix socket cannot be replaced by the address", async () => {
    const { sendRequest, errors } = await serving({ key: byHeader("x-user") });
    expect((await sendRequest()).status).toBe(500);
    expect(errors).toMatchObject([{ code: "HEADGATE_NO_ADDRESS" }]);
  });

  test('missingKey: "reject" and "skip" need no address', async () => {
    const rejecting = await serving({ key: byHeader("x-user"), missingKey: "reject" });
    expect((await rejecting.sendRequest()).status).toBe(400);
    const skipping = await serving({ key: byHeader("x-user"), missingKey: "skip" });
    expect((await skipping.sendRequest()).status).toBe(200);
  });

  test("a trusted proxy in front forwards the address over a unix socket", async () => {
    const { sendRequest, warnings } = await serving({}, { trustProxy: (_, hop) => hop < 1 });
    const from = (address: string) => sendRequest("/", { headers: { "x-forwarded-for": address } });
    expect((await from("198.51.100.1, 203.0.113.1")).status).toBe(200);
    expect((await from("198.51.100.2, 203.0.113.1")).status).toBe(429);
    expect((await from("203.0.113.2")).status).toBe(200);
    expect(warnings).toEqual([]);
  });
});
