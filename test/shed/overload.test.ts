import { execFile } from "node:child_process";
import { createServer } from "node:http";
import { join } from "node:path";
import { promisify } from "node:util";
import { loadShedder } from "@headgate/shed";
import { expect, test } from "vitest";
import { serve } from "../support/serve.ts";

const run = promisify(execFile);

/** Uses the processor for 10 ms, as this process sees it. */
function spin(): void {
  const until = performance.now() + 10;
  while (performance.now() < until);
}

test("a server that is asked for three times what it can do sheds the rest, and loses no request", async () => {
  const shed = loadShedder();
  const server = createServer((req, res) =>
    shed(req, res, () => {
      spin();
      res.end("ok");
    }),
  );
  const { port } = new URL(await serve(server));
  const client = join(import.meta.dirname, "overload.mjs");
  const { stdout } = await run(process.execPath, [client, port, "300", "3"]);
  const { sent, ok, shed: rejected, failed } = JSON.parse(stdout);
  expect(failed).toBe(0);
  expect(ok + rejected).toBe(sent);
  // On a busy machine the server can do less, and sheds more; how late it answers would say more about the machine.
  expect(rejected).toBeGreaterThan(sent / 3);
  expect(ok).toBeGreaterThan(sent / 50);
  await shed.close();
});
