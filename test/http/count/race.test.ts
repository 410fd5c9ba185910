import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { describe, expect, test } from "vitest";
import { Random } from "../../conformance/random/random.ts";
import { describeAdapters } from "../support/describe-frameworks.ts";
import { eventually } from "../support/eventually.ts";
import { failure, useStores } from "./stores.ts";

/** So many rounds behind each framework, in each place. */
const SEEDS = Array.from(
  { length: process.env["HEADGATE_LONG"] === "1" ? 100 : 4 },
  (_, i) => i + 1,
);

const LIMIT = 12;

const CLIENTS = 80;

/** What becomes of a client. */
type Fate = "stays" | "leaves" | "leaves-some-time";

const FATES: readonly Fate[] = ["stays", "stays", "leaves", "leaves-some-time"];

async function pass(turns: number): Promise<void> {
  for (let i = 0; i < turns; i += 1) await setImmediate();
}

/** Sends a request and hangs up; resolves with whether all of its answer came. */
async function visit(
  port: number,
  path: string,
  leaving: Promise<unknown> | undefined,
): Promise<boolean> {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  let text = "";
  socket.on("data", (bytes) => {
    text += bytes;
  });
  const over = new Promise((resolve) => socket.once("close", resolve));
  socket.write(`GET ${path} HTTP/1.1\r\nHost: here\r\nConnection: close\r\n\r\n`);
  await Promise.race([over, leaving ?? over]);
  socket.destroy();
  return text.endsWith('"over"');
}

describeAdapters(({ serve }) => {
  describe.each(useStores())("with counts in $name", ({ count }) => {
    test.each(SEEDS)(
      "clients that disconnect at random times do not exceed the limit: seed %i",
      async (seed) => {
        const random = new Random(seed);
        const { limiter, used } = count(LIMIT);
        /** Requests that are with the handler. */
        let inFlight = 0;
        /** Those that count for sure: they failed, or their client had left before they were answered. */
        let counted = 0;
        /** Those that were answered well, for all that the server knew. */
        let succeeded = 0;
        let most = 0;
        const leave = new Map<string, () => void>();
        const site = await serve({
          limits: { limiter, count: "failed" },
          routes: {
            "/:id/:fate/:turns/:status": {
              async handle(request) {
                const [, id = "", fate, turns, status] = request.url.split("/");
                inFlight += 1;
                most = Math.max(most, inFlight + counted);
                if (fate === "leaves") {
                  leave.get(id)?.();
                  const { socket } = request;
                  if (!socket.destroyed)
                    await new Promise((resolve) => socket.once("close", resolve));
                } else {
                  await pass(Number(turns));
                }
                inFlight -= 1;
                if (status === "401" || request.socket.destroyed) counted += 1;
                else succeeded += 1;
                if (status === "401") throw failure(401);
                return "over";
              },
            },
          },
        });
        let whole = 0;
        await Promise.all(
          Array.from({ length: CLIENTS }, async (_, i) => {
            const fate = random.pick(FATES);
            const status = random.chance(0.1) ? 401 : 200;
            const [arrival, turns, stay] = [60, 5, 12].map((most) => random.whole(0, most));
            await pass(arrival as number);
            const leaving =
              fate === "stays"
                ? undefined
                : fate === "leaves"
                  ? new Promise<void>((resolve) => leave.set(`${i}`, resolve))
                  : pass(stay as number);
            const path = `/${i}/${fate}/${turns}/${status}`;
            if (await visit(site.port, path, leaving)) whole += 1;
          }),
        );
        await eventually(() => expect(inFlight).toBe(0));
        // Of the others that were answered well, their clients left before they had read it: both are right.
        const atMost = counted + Math.max(0, succeeded - whole);
        await eventually(async () => {
          const now = await used();
          expect(now).toBeGreaterThanOrEqual(counted);
          expect(now).toBeLessThanOrEqual(atMost);
        });
        expect(most).toBeLessThanOrEqual(LIMIT);
        expect(whole).toBeGreaterThan(0);
      },
    );
  });
});
