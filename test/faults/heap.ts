import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

/** Returns the megabytes of heap in use after a full garbage collection. */
export function heapMegabytes(): number {
  collect();
  return process.memoryUsage().heapUsed / 1_000_000;
}
