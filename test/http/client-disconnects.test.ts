import { once } from "node:events";
import { connect } from "node:net";
import { createLimiter, gcra } from "@headgate/core";
import { expect, test } from "vitest";
import { deferred } from "./support/deferred.ts";
import { describeFrameworks } from "./support/describe-frameworks.ts";
import type { AnyRequest, RunningSite } from "./support/framework.ts";
import { watchUnhandled } from "./support/unhandled.ts";

const limits = gcra({ limit: 1, window: "1h" });
/** The cost of what is denied at once. */
const tooMuch = () => 2;

/** A function of a request that takes until the client has left. */
function waitForLeaving() {
  const entered = deferred<AnyRequest>();
  const left = deferred();
  return {
    entered: entered.promise,
    left,
    async slowly(request: AnyRequest) {
      entered.resolve(request);
      await left.promise;
    },
  };
}

/** Sends a request, and leaves when it is being worked on. Resolves when the server has seen that. */
async function askAndLeave(site: RunningSite, entered: Promise<AnyRequest>): Promise<void> {
  const socket = connect(site.port, "127.0.0.1");
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const request = await entered;
  const closed = once(request.socket, "close");
  socket.destroy();
  await closed;
}

/** Sends a request and resets the connection at once: its address is gone before the server reads the request. */
async function askAndReset(port: number): Promise<void> {
  const socket = connect(port, "127.0.0.1");
  await once(socket, "connect");
  socket.write("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n");
  socket.resetAndDestroy();
  await once(socket, "close");
}

describeFrameworks(({ serve }) => {
  test.each(["key", "cost", "skip", "onDenied"] as const)(
    "a client that disconnects while %s is pending causes no error",
    async (option) => {
      const settled = watchUnhandled();
      const { entered, left, slowly } = waitForLeaving();
      const values = { key: "ann", cost: 1, skip: false, onDenied: undefined };
      const cost = option === "onDenied" ? tooMuch : 1;
      const site = await serve({
        limits: {
          limits,
          cost,
          [option]: async (request: AnyRequest) => {
            await slowly(request);
            return values[option];
          },
        },
      });
      await askAndLeave(site, entered);
      left.resolve();
      await settled();
      expect(site.errors).toEqual([]);
      expect(site.warnings).toEqual([]);
      expect([200, 429]).toContain((await site.sendRequest()).status);
    },
  );

  test("a request whose client disconnected before its address was needed is dropped silently", async () => {
    const settled = watchUnhandled();
    const { entered, left, slowly } = waitForLeaving();
    const limiter = createLimiter({ limits });
    const site = await serve({ limits: { limiter }, before: slowly });
    await askAndLeave(site, entered);
    left.resolve();
    await settled();
    expect(site.errors).toEqual([]);
    expect(site.handled).toEqual([]);
    expect((await site.sendRequest()).status).toBe(200);
  });

  test("clients that reset their connections before their address was read cause no errors", async () => {
    const settled = watchUnhandled();
    const site = await serve({ limits: { limits } });
    for (let i = 0; i < 40; i += 1) await askAndReset(site.port);
    await settled();
    expect(site.errors).toEqual([]);
    expect(site.warnings).toEqual([]);
    expect((await site.sendRequest()).status).toBe(200);
  });

  test("a client that disconnects does not avoid being counted if its key is known", async () => {
    const { entered, left, slowly } = waitForLeaving();
    const site = await serve({ limits: { limits, key: () => "ann" }, before: slowly });
    await askAndLeave(site, entered);
    left.resolve();
    // Whoever leaves early has spent, or was not served.
    const { status } = await site.sendRequest();
    expect(site.handled).toHaveLength(1);
    expect([200, 429]).toContain(status);
    expect(site.errors).toEqual([]);
  });

  test("the address is read before anything is awaited, so disconnecting early does not avoid the charge", async () => {
    const settled = watchUnhandled();
    const { entered, left, slowly } = waitForLeaving();
    const limiter = createLimiter({ limits });
    const site = await serve({
      limits: {
        limiter,
        async skip(request) {
          await slowly(request);
          return false;
        },
      },
    });
    await askAndLeave(site, entered);
    left.resolve();
    await settled();
    expect(await limiter.peek("127.0.0.1")).toMatchObject({ allowed: false });
  });
});
