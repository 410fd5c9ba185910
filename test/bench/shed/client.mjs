// Sends requests to a server, from a process of its own, as clients do that know nothing of each other.
import { Agent, get } from "node:http";
import { answer, readSetup } from "../other-process.mjs";
import { createRandom, USEFUL_MS, WORKLOADS } from "./workloads.mjs";

/** How many connections are kept alive, as by a proxy. A request that finds none free waits here. */
const POOL = 200;

/** A response that comes later than this after the last request is not waited for. */
const PATIENCE_MS = USEFUL_MS;

const { port, workload, keepAlive, seed } = readSetup();
const { msOf } = WORKLOADS[workload];
const random = createRandom(seed);
const agent = keepAlive
  ? new Agent({ keepAlive, maxSockets: POOL, maxFreeSockets: POOL })
  : new Agent({ keepAlive, maxSockets: Number.POSITIVE_INFINITY });

/** Resolves with the status, 0 without a response, and the time since the request was due. */
function send(dueAt, ms = msOf(random())) {
  return new Promise((resolve) => {
    const end = (status) => resolve({ dueAt, status, ms: performance.now() - dueAt });
    const path = `/?ms=${ms.toFixed(2)}`;
    const request = get({ port, host: "127.0.0.1", path, agent }, (response) => {
      response.resume();
      response.on("end", () => end(response.statusCode));
      response.on("error", () => end(0));
    });
    request.on("error", () => end(0));
  });
}

/** Opens the connections that are kept alive. */
async function connect() {
  if (keepAlive) await Promise.all(Array.from({ length: POOL }, () => send(0, 0)));
}

/**
 * Sends requests at random times, whether or not earlier ones were answered: `perSecond` of them on average for `ms`, in each of
 * the phases. Resolves with what became of each, its time counted from the begin of the first phase; the status is 0 if no response
 * has come in time.
 */
async function load(phases) {
  await connect();
  const startedAt = performance.now();
  const results = [];
  let from = startedAt;
  for (const { perSecond, ms } of phases) {
    const until = from + ms;
    const nextGap = () => (-Math.log(1 - random()) * 1_000) / perSecond;
    let dueAt = from + nextGap();
    while (dueAt < until) {
      while (dueAt <= performance.now() && dueAt < until) {
        const result = { at: dueAt - startedAt, status: 0, ms: 0 };
        results.push(result);
        void send(dueAt).then(({ status, ms }) => Object.assign(result, { status, ms }));
        dueAt += nextGap();
      }
      await new Promise((resolve) => setTimeout(resolve, 1));
    }
    from = until;
  }
  await new Promise((resolve) => setTimeout(resolve, from + PATIENCE_MS - performance.now()));
  return results;
}

/** How many requests a second the server can handle: eight clients that send the next request when the last one was answered. */
async function capacity(ms) {
  await connect();
  const startedAt = performance.now();
  let answered = 0;
  const one = async () => {
    while (performance.now() - startedAt < ms) {
      await send(performance.now());
      answered += 1;
    }
  };
  await Promise.all(Array.from({ length: 8 }, one));
  return (answered * 1_000) / (performance.now() - startedAt);
}

answer({ load, capacity });
