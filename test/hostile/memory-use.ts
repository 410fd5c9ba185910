import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

const MEBIBYTE = 2 ** 20;

/** Collects garbage, without a flag of the process's own. */
const collectGarbage: () => void = (() => {
  setFlagsFromString("--expose-gc");
  return runInNewContext("gc");
})();

/** What this process's objects and buffers take once nothing is left to collect, in mebibytes. */
export function liveMebibytes(): number {
  collectGarbage();
  collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return (heapUsed + external) / MEBIBYTE;
}

/** What a server has allocated, by its own account, in mebibytes. */
export function mebibytesOf(memoryInfo: string): number {
  return Number(/^used_memory:(\d+)/m.exec(memoryInfo)?.[1]) / MEBIBYTE;
}
