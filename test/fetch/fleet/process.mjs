// One process of a fleet that calls a mock provider. It sends its calls all at once; the caller makes them wait.
import { subscribe } from "node:diagnostics_channel";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { FETCH_CHANNELS } from "@headgate/fetch";
import { now } from "../../../examples/providers/mock-api.mjs";
import { answer } from "../../bench/other-process.mjs";
import { CALLERS } from "./callers.mjs";

const delays = monitorEventLoopDelay({ resolution: 5 });
delays.enable();

/** What happened since the caller was opened. Times are in milliseconds since the Unix epoch. */
let seen = { sent: [], cooldowns: [], warnings: [] };
let caller;

subscribe(FETCH_CHANNELS.cooldown, (message) => seen.cooldowns.push({ ...message, at: now() }));
process.on("warning", ({ code }) => seen.warnings.push(code));

function send(url, init) {
  seen.sent.push({ id: init.headers["x-call"], at: now() });
  return fetch(url, init);
}

async function open({ tool, ...setup }) {
  await caller?.close();
  caller = CALLERS[tool](setup, send);
  await caller.ready();
  delays.reset();
  seen = { sent: [], cooldowns: [], warnings: [] };
}

/** A call that a caller loses never ends, so every call has a deadline. */
async function call({ id, url, method = "GET", headers, body }, deadlineMs) {
  let timer;
  const deadline = new Promise((resolve) => {
    timer = setTimeout(resolve, deadlineMs, { id, error: "deadline" });
  });
  const ended = caller.call(url, { method, headers: { ...headers, "x-call": id }, body }).then(
    (status) => ({ id, status, at: now() }),
    (error) => ({ id, error: String(error.code ?? error), at: now() }),
  );
  const outcome = await Promise.race([ended, deadline]);
  clearTimeout(timer);
  return outcome;
}

answer({
  open,
  run: (calls, deadlineMs) => Promise.all(calls.map((one) => call(one, deadlineMs))),
  isDegraded: () => caller.isDegraded(),
  report: () => ({ ...seen, longestDelayMs: delays.max / 1e6 }),
  close: () => caller.close(),
});
