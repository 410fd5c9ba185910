import { createLimiter, gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { deferred } from "./support/deferred.ts";
import { describeFrameworks } from "./support/describe-frameworks.ts";
import type { Send, SharedOptions } from "./support/framework.ts";
import { watchUnhandled } from "./support/unhandled.ts";

const limits = gcra({ limit: 1, window: "1h" });

describeFrameworks(({ serve }) => {
  /** A site whose timeout answers 503 while a key is still being looked up. */
  async function timeOut(key: string | undefined, options: Partial<SharedOptions>) {
    const settled = watchUnhandled();
    const looked = deferred();
    let send: Send | undefined;
    const site = await serve({
      limits: {
        limits,
        async key() {
          // What a timer of somebody else's would do while this one waits.
          send?.(503, "timed out");
          await looked.promise;
          return key;
        },
        ...options,
      },
      before: (_, answer) => {
        send = answer;
      },
    });
    expect(await site.sendRequest()).toMatchObject({ status: 503, text: "timed out" });
    looked.resolve();
    await settled();
    return site;
  }

  test("a request that something else answered meanwhile does not continue, and is no error", async () => {
    const { errors, handled } = await timeOut("ann", {});
    expect(errors).toEqual([]);
    expect(handled).toEqual([]);
  });

  test("a denied request that something else answered does not reach the handler", async () => {
    const limiter = createLimiter({ limits });
    await limiter.consume("ann");
    const { errors, handled } = await timeOut("ann", { limiter, limits: undefined });
    expect(errors).toEqual([]);
    expect(handled).toEqual([]);
  });

  test("onDenied is not called if something else answered the request", async () => {
    const limiter = createLimiter({ limits });
    await limiter.consume("ann");
    const seen: string[] = [];
    const onDenied = ({ url }: { url: string }) => seen.push(url);
    await timeOut("ann", { limiter, limits: undefined, onDenied });
    expect(seen).toEqual([]);
  });

  test("a request without its key that something else answered gets no second response", async () => {
    const { errors, handled } = await timeOut(undefined, { missingKey: "reject" });
    expect(errors).toEqual([]);
    expect(handled).toEqual([]);
  });
});
