import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const MEBIBYTE = 2 ** 20;

/** Collects garbage without a command-line flag. */
const collectGarbage: () => void = (() => {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
})();

/** Returns the mebibytes of this process's objects and buffers after full garbage collections. */
export function liveMebibytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MEBIBYTE;
}

/** Returns the mebibytes that a server has allocated, from its INFO. */
export function mebibytesOf(memoryInfo: string): number {
  return Number(/^used_memory:(\d+)/m.exec(memoryInfo)?.[1]) / MEBIBYTE;
}
