import { createHook } from "node:async_hooks";
import { createServer } from "node:http";
import { setImmediate } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { loadShedder } from "@headgate/shed";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../support/serve.ts";
import { waitUntil } from "../support/wait-until.ts";

setFlagsFromString("--expose-gc");
const collectGarbage = runInNewContext("gc") as () => void;

test("an async hook learns that a request that waited is over", async () => {
  const alive = new Set<number>();
  let waited = 0;
  const shed = loadShedder({ maxInFlight: 1, maxWait: "1m" });
  const url = await serve(
    createServer((req, res) =>
      shed(req, res, async () => {
        await othersWait;
        res.end("ok");
      }),
    ),
  );
  const othersWait = new Promise<void>((resolve) => {
    const hook = createHook({
      init(id, type) {
        if (type !== "HeadgateShed") return;
        alive.add(id);
        waited += 1;
        if (waited === 9) resolve();
      },
      destroy: (id) => void alive.delete(id),
    }).enable();
    onTestFinished(() => void hook.disable());
  });

  await Promise.all(Array.from({ length: 10 }, () => fetch(url).then((res) => res.text())));
  await shed.close();
  expect(waited).toBeGreaterThanOrEqual(9);
  await waitUntil("all are over", 5_000, async () => {
    collectGarbage();
    await setImmediate();
    return alive.size === 0 || undefined;
  });
});
