import { once } from "node:events";
import { connect } from "node:net";
import { concurrency, createLimiter, memoryStore } from "@headgate/core";
import type { Operation } from "@headgate/core/internal";
import { requireStore } from "@headgate/core/internal";
import { expect, onTestFinished, test } from "vitest";
import { brandStore } from "../../../packages/core/src/store/store.ts";
import { eventually } from "../support/eventually.ts";
import { manualClock } from "../support/manual-clock.ts";
import { describeProtocol } from "./frameworks.ts";

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: here\r\n\r\n`;

const TTL = 90;

/** Three of them are more than Node lets wait on a connection: 16 KiB in Node 20, 64 KiB from 22 on. */
const LARGE = 40_000;

/** A store on a clock of the test's, which counts the calls that renew places. */
function watchRenewals() {
  const clock = manualClock();
  const memory = requireStore(memoryStore({ clock: clock.now }));
  const seen = { renewals: 0 };
  const store = brandStore({
    owner: memory.owner,
    prefix: memory.prefix,
    now: memory.now,
    run<Call, Reply>(operation: Operation<Call, Reply>, call: Call) {
      if ((call as { renews?: boolean }).renews) seen.renewals += 1;
      return memory.run(operation, call);
    },
  });
  return { clock, store, seen };
}

describeProtocol("HTTP/1.1", (serve) => {
  // Node reads no further, and so sees neither an end nor a reset.
  test("slots of pipelined requests expire if responses wait behind a slow one and Node cannot detect the disconnect", async () => {
    const { clock, store, seen } = watchRenewals();
    const limiter = createLimiter({
      name: "exports",
      limits: concurrency({ limit: 8, ttl: TTL }),
      store,
    });
    const remaining = async () => (await limiter.peek("everybody", { cost: 0 })).remaining;
    const signals: AbortSignal[] = [];
    let isPaused = (): boolean => false;
    const port = await serve({
      limiter,
      handle({ own, request, response }) {
        isPaused = () => request.socket.isPaused();
        if (own?.decision.signal) signals.push(own.decision.signal);
        else if (request.url === "/free/large") response.end(Buffer.alloc(LARGE));
      },
    });
    const socket = connect(port, "127.0.0.1");
    onTestFinished(() => {
      socket.destroy();
    });
    await once(socket, "connect");
    socket.write(get("/free/slow") + get("/limited/export").repeat(2));
    await eventually(() => expect(signals).toHaveLength(2));
    // As long as the connection is read, they are renewed.
    for (let third = 0; third < 4; third += 1) {
      const before = seen.renewals;
      clock.advance(TTL / 3);
      await eventually(() => expect(seen.renewals).toBeGreaterThan(before));
    }
    expect(await remaining()).toBe(6);
    socket.write(get("/free/large").repeat(3));
    await eventually(() => expect(isPaused()).toBe(true));
    socket.resetAndDestroy();
    // So slowly that a renewal would come in time.
    await eventually(async () => {
      clock.advance(1);
      expect(await remaining()).toBe(8);
    });
    await eventually(() => expect(signals.every(({ aborted }) => aborted)).toBe(true));
    expect(signals[0]?.reason).toMatchObject({ code: "HEADGATE_SLOT_LOST" });
  });
});
