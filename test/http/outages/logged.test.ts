import { gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { useLosableRedis } from "../support/losable-redis.ts";

const limits = gcra({ limit: 1_000, window: "1h" });

describeAdapters(({ serve }) => {
  const redis = useLosableRedis();

  test("each change of the store's state is logged once with its code and reason, however many limiters there are", async () => {
    const store = await redis.openStore();
    /** A time longer than the default, for a machine that does other things as well. */
    const of = (name: string) => ({ name, limits, store, storeTimeout: 300 });
    const site = await serve({
      limits: [of("site"), of("second")],
      routes: { "/a": { limits: of("a") }, "/b": { limits: of("b") } },
    });
    await site.sendRequest("/a");
    for (const round of [1, 2]) {
      redis.lose();
      for (const path of ["/a", "/b", "/a"]) await site.sendRequest(path);
      await redis.restore();
      // A warning of the process comes a turn of the loop later.
      await waitUntil("the return is logged", 5_000, () =>
        site.warnings.length >= 2 * round ? true : undefined,
      );
      await site.sendRequest("/b");
    }
    expect(site.warnings.map(({ code }) => code)).toEqual([
      "HEADGATE_STORE_DOWN",
      "HEADGATE_STORE_UP",
      "HEADGATE_STORE_DOWN",
      "HEADGATE_STORE_UP",
    ]);
    const [down, up] = site.warnings;
    expect(down?.message).toMatch(/the store is down: .*no answer within 300 ms.*onUnavailable/);
    expect(up?.message).toMatch(/answers again after \d+\.\d s; \d+ calls were not sent/);
    expect(site.errors).toEqual([]);
  });
});
