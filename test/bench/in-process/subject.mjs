// One kind of call in a process of its own, whose garbage is its own.
import assert from "node:assert/strict";
import { setImmediate as nextTurn } from "node:timers/promises";
import { answer, readSetup } from "../other-process.mjs";
import { CALLS } from "./calls.mjs";

const { name, port } = readSetup();
const { make, subjects } = CALLS[name];
const { consume, isWanted = () => true } = await make(port);
/** Built in advance, so that only the decision is measured. */
const names = Array.from({ length: subjects }, (_, i) => `user-${i}`);
/** Successive subjects are not adjacent in memory: the multiplier is coprime to every number of subjects. */
const STRIDE = 7_919;
/** The event loop runs once in so many calls, so that replies of Redis and timers are processed. */
const TURN = 1_000;

/** Resolves with the number of decisions from the expected source. */
async function callOften(calls) {
  let wanted = 0;
  for (let i = 0; i < calls; i += 1) {
    if (isWanted(await consume(names[(i * STRIDE) % subjects]))) wanted += 1;
    if (i % TURN === TURN - 1) await nextTurn();
  }
  return wanted;
}

/** The memory in use after a collection, in bytes: the heap, and the buffers outside it. */
function readMemory() {
  globalThis.gc();
  globalThis.gc();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

answer({
  /** Every subject has a key from now on. */
  fill: () => callOften(subjects),

  async time(calls) {
    // A lease, or what is known to be denied, may have ended since the last round.
    await callOften(TURN);
    const cpuFrom = process.cpuUsage();
    const from = process.hrtime.bigint();
    const wanted = await callOften(calls);
    const nanoseconds = Number(process.hrtime.bigint() - from) / calls;
    const { user, system } = process.cpuUsage(cpuFrom);
    assert.ok(
      wanted >= 0.99 * calls,
      `${name}: ${wanted} of ${calls} were answered in this process`,
    );
    return { nanoseconds, cpuNanoseconds: ((user + system) * 1_000) / calls };
  },

  /** In a process whose young generation is larger than all of this, so that nothing is collected meanwhile. */
  async allocate(calls) {
    // Runs twice: the first run compiles the code and fills the caches.
    await callOften(2 * calls);
    globalThis.gc();
    const before = process.memoryUsage().heapUsed;
    await callOften(calls);
    const after = process.memoryUsage().heapUsed;
    globalThis.gc();
    const kept = process.memoryUsage().heapUsed;
    return { allocated: (after - before) / calls, retained: (kept - before) / calls };
  },

  /** The bytes that a key takes, with its name: of so many new subjects, once each. */
  async bytesPerKey(keys) {
    // Compiles the code, so that only keys are added.
    await callOften(10 * TURN);
    const before = readMemory();
    for (let i = 0; i < keys; i += 1) {
      await consume(`other-${i}`);
      if (i % TURN === TURN - 1) await nextTurn();
    }
    await nextTurn();
    return (readMemory() - before) / keys;
  },
});
