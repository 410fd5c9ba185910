import type { LoadShedder, LoadShedderOptions, NodeRequest } from "@headgate/shed";
import { onTestFinished } from "vitest";
import { createLoadShedder } from "../../packages/shed/src/load-shedder.ts";
import { VirtualLoop } from "./virtual-loop.ts";

/** No events but timers and immediates. */
const SILENCE = { nextAt: () => Number.POSITIVE_INFINITY, poll() {} };

/** Sends four requests to a load shedder on a virtual loop. The handler of the second takes 400 ms, so that the last two are shed. */
export function overload(options: LoadShedderOptions<NodeRequest> = {}): {
  readonly shed: LoadShedder;
  /** Lets a second pass. */
  endSecond(): void;
} {
  const loop = new VirtualLoop();
  const shed = createLoadShedder(options, loop);
  onTestFinished(() => shed.close());
  const run = (ms: number) => loop.run(SILENCE, loop.now() + ms);
  const res = { headersSent: false, writableEnded: false, writeHead() {}, end() {} };
  const request = (ms: number) => shed({ headers: {}, socket: {} }, res, () => loop.spin(ms));
  run(100);
  request(10);
  request(400);
  request(0);
  request(0);
  run(500);
  return { shed, endSecond: () => run(1_000) };
}
