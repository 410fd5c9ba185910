import { setImmediate } from "node:timers/promises";
import { gcra } from "@headgate/core";
import { byHeader } from "@headgate/core/http";
import { expect, test } from "vitest";
import { describeAdapters } from "./support/describe-frameworks.ts";
import type { SharedOptions, Site } from "./support/framework.ts";

const limits = gcra({ limit: 100, window: "1h" });

describeAdapters(({ serve, trustsProxies = true }) => {
  /** What the operator is logged when these requests come in. */
  async function warningsAfter(
    trustProxy: Site["trustProxy"],
    headers: readonly Record<string, string>[],
    options: Partial<SharedOptions> = {},
  ): Promise<string[]> {
    const { sendRequest, warnings } = await serve({
      limits: { limits, ...options },
      trustProxy: trustProxy ?? false,
    });
    for (const one of headers) await sendRequest("/", { headers: one });
    // The process reports a warning in the turn after the one that made it.
    await setImmediate();
    return warnings.map(({ code }) => code);
  }

  const forwarded = { "x-forwarded-for": "203.0.113.1" };

  test("a forwarding header without trusted proxies is reported once, because all clients would count as one", async () => {
    expect(await warningsAfter(false, [{}, forwarded, forwarded, forwarded])).toEqual([
      "HEADGATE_PROXY_NOT_TRUSTED",
    ]);
    expect(await warningsAfter(false, [{ forwarded: "for=203.0.113.1" }])).toEqual([
      "HEADGATE_PROXY_NOT_TRUSTED",
    ]);
  });

  test("a forwarding header from an untrusted proxy is reported", async () => {
    expect(await warningsAfter("10.0.0.0/8", [forwarded])).toEqual(["HEADGATE_PROXY_NOT_TRUSTED"]);
  });

  test.skipIf(!trustsProxies)(
    "trusting every proxy is reported once, because a client could choose its address",
    async () => {
      expect(await warningsAfter(true, [forwarded, forwarded])).toEqual([
        "HEADGATE_ALL_PROXIES_TRUSTED",
      ]);
      expect(await warningsAfter(() => true, [forwarded])).toEqual([
        "HEADGATE_ALL_PROXIES_TRUSTED",
      ]);
      expect(await warningsAfter("0.0.0.0/1, 128.0.0.0/1", [{}])).toEqual([
        "HEADGATE_ALL_PROXIES_TRUSTED",
      ]);
    },
  );

  test("trusting an address, a network or a number of hops is not reported", async () => {
    const trusts = ["loopback", "127.0.0.1", "127.0.0.0/8, 10.0.0.0/8"];
    for (const trust of trusts) expect(await warningsAfter(trust, [{}, forwarded])).toEqual([]);
    expect(await warningsAfter((_, hop) => hop < 2, [{}, forwarded])).toEqual([]);
  });

  test("requests without a forwarding header are not reported", async () => {
    expect(await warningsAfter(false, [{}, { via: "1.1 proxy" }])).toEqual([]);
  });

  test("nothing is reported if no address is counted", async () => {
    const options = { key: byHeader("x-user"), missingKey: "reject" } as const;
    expect(await warningsAfter(false, [forwarded], options)).toEqual([]);
    expect(await warningsAfter(true, [forwarded], options)).toEqual([]);
  });

  test("several limiters of one site report once", async () => {
    const { sendRequest, warnings } = await serve({
      limits: [{ limits }, { limits: gcra({ limit: 9, window: "1h" }) }],
      routes: { "/": { limits: { limits: gcra({ limit: 8, window: "1h" }) } } },
    });
    await sendRequest("/", { headers: forwarded });
    await setImmediate();
    expect(warnings.map(({ code }) => code)).toEqual(["HEADGATE_PROXY_NOT_TRUSTED"]);
  });

  test("the warning names the sender of the header and the fix", async () => {
    const { sendRequest, warnings } = await serve({ limits: { limits } });
    await sendRequest("/", { headers: forwarded });
    await setImmediate();
    expect(warnings[0]?.message).toMatch(/127\.0\.0\.1.*trust ?proxy/i);
  });
});
