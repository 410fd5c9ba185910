import { Readable } from "node:stream";
import { getHeapStatistics } from "node:v8";
import { gcra, memoryStore, slidingLog } from "@headgate/core";
import { expect, test } from "vitest";
import { MemoryBudget } from "../log/memory-budget.ts";
import { readLog } from "../log/read-log.ts";
import { ClientTable } from "./client-table.ts";
import { Peaks } from "./peaks.ts";
import { runInLibrary } from "./policy-run.ts";
import { replayEntries } from "./replay-entries.ts";
import { maxKeysFor } from "./start-runs.ts";
import { WaitCounts } from "./tally.ts";
import { Timelines } from "./timelines.ts";
import { Trace } from "./trace.ts";

/** Three clients ask in turn, two times each, under a limit of one an hour. */
async function replayWithRoomFor(maxKeys: number, bytesForClients?: number) {
  const lines = Array.from(
    { length: 6 },
    (_, i) => `192.0.2.${i % 3} - - [03/Mar/2026:06:00:0${i} +0000] "GET / HTTP/1.1" 200 5`,
  );
  const log = Readable.from([Buffer.from(lines.join("\n"))]);
  const policy = { name: "one", limits: [slidingLog({ limit: 1, window: "1h" })] };
  let now = 0;
  const store = memoryStore({ clock: () => now, maxKeys });
  const evicted = () => store.evictions;
  const run = runInLibrary(policy, { name: "replay", store, storeTimeout: 5_000, evicted });
  const onTime = (time: number) => {
    now = time;
  };
  return replayEntries(readLog(log, {}), {
    ...{ policies: [policy], runs: [run], onTime },
    ...(bytesForClients === undefined ? {} : { clientBytes: bytesForClients }),
  });
}

test("evictions are always reported", async () => {
  const whole = await replayWithRoomFor(3);
  expect(whole.policies[0]).toMatchObject({ denied: 3, evicted: 0 });
  const cut = await replayWithRoomFor(2);
  expect(cut.policies[0]).toMatchObject({ denied: 0, evicted: 4 });
});

test("each policy has the paths and agents of the requests that it denied itself", async () => {
  const lines = ["/a", "/a", "/b"].map(
    (path, i) =>
      `192.0.2.1 - - [03/Mar/2026:06:00:0${i} +0000] "GET ${path} HTTP/1.1" 200 5 "-" "agent${path}"`,
  );
  const policies = [1, 2].map((limit) => ({
    name: `${limit}`,
    limits: [slidingLog({ limit, window: "1h" })],
  }));
  const store = memoryStore({ clock: () => Date.UTC(2026, 2, 3, 6) });
  const runs = policies.map((policy) =>
    runInLibrary(policy, { name: policy.name, store, storeTimeout: 5_000, evicted: () => 0 }),
  );
  const log = readLog(Readable.from([Buffer.from(lines.join("\n"))]), {});
  const result = await replayEntries(log, { policies, runs, onTime: () => {} });
  expect(result.policies.map(({ clients }) => clients[0])).toMatchObject([
    {
      denied: 2,
      agent: "agent/a",
      paths: [
        { path: "/a", denied: 1 },
        { path: "/b", denied: 1 },
      ],
    },
    { denied: 1, agent: "agent/b", paths: [{ path: "/b", denied: 1 }] },
  ]);
});

test("too many clients for the memory end the replay with an error", async () => {
  // Three clients of 139 bytes, which are denied, so 200 bytes more each.
  await expect(replayWithRoomFor(3, 3 * (139 + 200))).resolves.toBeDefined();
  for (const bytes of [2 * 139, 3 * (139 + 200) - 1]) {
    await expect(replayWithRoomFor(3, bytes)).rejects.toThrow(
      /^the log has more clients than fit into the memory of this process \(\d+ MB\): .*--max-old-space-size=\d+$/,
    );
  }
});

test("stores share half of the heap, and a sliding log takes more of it than other limits", () => {
  const small = [gcra({ limit: 1, window: "1m" })];
  expect(maxKeysFor(small, 4)).toBe(Math.floor(maxKeysFor(small, 2) / 2));
  const many = [...small, slidingLog({ limit: 1, window: "1m" })];
  expect(maxKeysFor(small, 2) / maxKeysFor(many, 2)).toBeGreaterThan(2);
  const { heap_size_limit: heap } = getHeapStatistics();
  // As measured: 1,663 bytes for a subject of both.
  expect(maxKeysFor(many, 1) * 1_663).toBeLessThan(heap / 2);
});

test("a timeline has at most 240 columns, which get longer with the log and lose no counts", () => {
  const timelines = new Timelines(1);
  for (let second = 0; second <= 1_000; second += 1) {
    timelines.count(0, timelines.columnAt(5_000 + second * 1_000));
  }
  expect(timelines.columnMs).toBe(5_000);
  expect(timelines.read(0)).toEqual([...Array(200).fill(5), 1]);
  timelines.count(0, timelines.columnAt(Date.UTC(2199, 11, 31)));
  expect(timelines.read(0).length).toBeLessThanOrEqual(240);
  expect(timelines.read(0).reduce((sum, count) => sum + count)).toBe(1_002);
});

test("peaks have an error if the trace cannot hold a window", () => {
  const trace = new Trace(1);
  const clients = new ClientTable(new MemoryBudget(Number.POSITIVE_INFINITY));
  const peaks = new Peaks([1_000, 100_000_000], trace, clients);
  for (let i = 0; i < 150_000; i += 1) {
    const time = i * 1_000;
    const client = clients.add("192.0.2.1");
    if (trace.isFull(time)) {
      peaks.removeFirstBlock(time);
      trace.drop();
    }
    trace.add(time, client, 0);
    peaks.add(time, client);
  }
  const [short, long] = peaks.read();
  expect(short).toEqual({ windowMs: 1_000, counts: [{ peak: 1, clients: 1 }], error: 0 });
  const { peak = 0 } = long?.counts[0] ?? {};
  expect(peak).toBeLessThan(100_000);
  expect(peak * (1 + (long?.error ?? 0))).toBeGreaterThanOrEqual(100_000);
  expect(trace.isWhole).toBe(false);
});

test("waits are exact, or rounded to a thousandth if there are too many distinct ones", () => {
  for (const maxDifferent of [100_000, 10]) {
    const waits = new WaitCounts(maxDifferent);
    for (let ms = 20_000; ms > 0; ms -= 1) waits.add(ms);
    const { p50 = 0, p90 = 0, p99 = 0, max } = waits.percentiles() ?? {};
    for (const [value, exact] of [
      [p50, 10_000],
      [p90, 18_000],
      [p99, 19_800],
    ] as const) {
      expect(value).toBeGreaterThanOrEqual(exact);
      expect(value).toBeLessThanOrEqual(maxDifferent === 10 ? exact * 1.001 : exact);
    }
    expect(max).toBe(20_000);
  }
  expect(new WaitCounts().percentiles()).toBeNull();
});
