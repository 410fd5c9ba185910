// One process's failures protect all: four processes share a breaker, one of them finds out that the upstream fails, and the
// others never ask it. When it works again five trial calls find that out, in all processes together.
//
//   npx -y pnpm@10.34.9 build
//   REDIS_URL=redis://127.0.0.1:6379 node examples/upstream-fleet/main.mjs

import { fork } from "node:child_process";
import { once } from "node:events";
import { createServer } from "node:http";
import { join } from "node:path";

let works = false;
let asked = 0;
const upstream = createServer((_request, response) => {
  asked += 1;
  response.writeHead(works ? 200 : 500).end();
});
upstream.listen(0, "127.0.0.1");
await once(upstream, "listening");
const address = /** @type {import("node:net").AddressInfo} */ (upstream.address());

// A new target at each run, so that the last run's calls do not count.
const args = [`http://127.0.0.1:${address.port}`, `upstream-${Date.now()}`];
const fleet = [1, 2, 3, 4].map(() => fork(join(import.meta.dirname, "process.mjs"), args));
await Promise.all(fleet.map((child) => once(child, "message")));

/**
 * Lets a process call the upstream until it knows that the breaker is in a state; resolves with what it saw.
 * @param {import("node:child_process").ChildProcess} child @param {string} state
 */
async function callUntil(child, state) {
  child.send(state);
  const [seen] = await once(child, "message");
  return seen;
}

console.log("The upstream fails.");
for (const [i, child] of fleet.entries()) {
  const { made, failures, calls, causedHere } = await callUntil(child, "open");
  const whose = causedHere ? "its own among them" : "none of them its own";
  console.log(
    `process ${i + 1} made ${made} calls, then it was open: ${failures} of ${calls} calls had failed, ${whose}`,
  );
}
console.log(`The upstream was asked ${asked} times.`);

works = true;
console.log("It works again, and all try to call it.");
const seen = await Promise.all(fleet.map((child) => callUntil(child, "closed")));
const trials = seen.map(({ made }) => made);
console.log(`trial calls of each process: ${trials.join(" ")}`);
console.log(`together ${trials.reduce((sum, made) => sum + made)}, and it was closed in all`);

for (const child of fleet) child.send("end");
upstream.close();
