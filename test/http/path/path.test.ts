import { execFile } from "node:child_process";
import { join } from "node:path";
import { promisify } from "node:util";
import { beforeAll, describe, expect, inject, test } from "vitest";

/** A function of our sources, and how often one request called it. */
interface Called {
  readonly file: string;
  readonly name: string;
  readonly count: number;
}

interface Numbers {
  readonly files: number;
  readonly functions: number;
  readonly calls: number;
}

type Place = "memory" | "redis";

/** The most that a warm, allowed request may pass on Express. They may only become less. */
const MOST: Readonly<Record<Place, Numbers>> = {
  memory: { files: 22, functions: 55, calls: 59 },
  redis: { files: 28, functions: 96, calls: 107 },
};

/** The calls that Fastify may add to those on Express. */
const MORE_ON_FASTIFY = 5;

let paths: Readonly<Record<`${"express" | "fastify"} ${Place}`, readonly Called[]>>;

/** In a process of its own, which loads the sources file by file: functions are as they are written, and nothing else is counted. */
beforeAll(async () => {
  const program = join(import.meta.dirname, "one-request.mjs");
  const args = ["--conditions=@headgate/source", program, inject("redisSocket")];
  const { stdout } = await promisify(execFile)(process.execPath, args, { maxBuffer: 2 ** 24 });
  paths = JSON.parse(stdout);
});

function numbersOf(path: readonly Called[]): Numbers {
  const files = new Set(path.map(({ file }) => file)).size;
  const calls = path.reduce((sum, { count }) => sum + count, 0);
  return { files, functions: path.length, calls };
}

/** The numbers of a path and all that is on it, for the message of a failure. */
function formatPath(path: readonly Called[]): string {
  const { files, functions, calls } = numbersOf(path);
  const lines = path.map(({ file, name, count }) => `${count} ${file} ${name}`);
  return [`${files} files, ${functions} functions, ${calls} calls`, ...lines].join("\n");
}

describe.each(["memory", "redis"] as const)("one allowed request, counted in %s", (place) => {
  test("passes few files, functions and calls on Express", () => {
    const path = paths[`express ${place}`];
    const { files, functions, calls } = numbersOf(path);
    const most = MOST[place];
    const message = `of at most ${JSON.stringify(most)}: ${formatPath(path)}`;
    expect(files, message).toBeLessThanOrEqual(most.files);
    expect(functions, message).toBeLessThanOrEqual(most.functions);
    expect(calls, message).toBeLessThanOrEqual(most.calls);
    // It is measured at all.
    expect(path.map(({ name }) => name)).toContain("check");
  });

  test(`passes at most ${MORE_ON_FASTIFY} calls more on Fastify`, () => {
    const path = paths[`fastify ${place}`];
    const { calls } = numbersOf(paths[`express ${place}`]);
    const message = `of ${calls} on Express and ${MORE_ON_FASTIFY} more: ${formatPath(path)}`;
    expect(numbersOf(path).calls, message).toBeLessThanOrEqual(calls + MORE_ON_FASTIFY);
  });
});
