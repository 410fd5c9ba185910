import { describe, expect, test } from "vitest";
import { parseProcessRecord } from "./parse-records.ts";
import { collectTargets } from "./record.ts";

function named(count: number, length = 0): string[] {
  return Array.from({ length: count }, (_, i) => `${i}`.padStart(3, "0").padEnd(length, "x"));
}

function listOne(...names: readonly string[]) {
  return collectTargets(new Map([["hash", () => names]]))[0];
}

describe("the targets of a breaker", () => {
  test("are listed in order, and as an empty list if there are none", () => {
    expect(listOne("b", "a")).toEqual({ record: "hash", names: ["a", "b"], more: 0 });
    expect(listOne()).toEqual({ record: "hash", names: [], more: 0 });
  });

  test("beyond the first 200 are only counted", () => {
    expect(listOne(...named(200))).toMatchObject({ names: named(200), more: 0 });
    const found = listOne("z", ...named(200));
    expect(found?.more).toBe(1);
    expect(found?.names).toEqual([...named(199), "z"]);
  });

  test("with names of more than 100 characters are only counted", () => {
    const [longest, longer] = ["x".repeat(100), "x".repeat(101)];
    expect(listOne(longer, longest, "y".repeat(2 ** 20))).toMatchObject({
      names: [longest],
      more: 2,
    });
  });

  test("of all breakers take at most 64 KB, however they are escaped", () => {
    // Six bytes each, as JSON.
    const names = named(200, 3).map((name) => name.padEnd(100, "\u0001"));
    const breakers = Array.from({ length: 20 }, (_, i) => [`hash ${i}`, () => names] as const);
    const listed = collectTargets(new Map(breakers));
    expect(Buffer.byteLength(JSON.stringify(listed))).toBeLessThan(65_536 + 20 * 60);
    expect(listed).toHaveLength(20);
    for (const one of listed) expect(one.names.length + one.more).toBe(200);
    expect(listed[0]?.names.length).toBeGreaterThan(100);
    // A short one may still have room.
    const last = collectTargets(new Map([...breakers, ["short", () => ["a"]]])).at(-1);
    expect(last).toEqual({ record: "short", names: ["a"], more: 0 });
  });
});

describe("the record of a process", () => {
  const record = {
    ...{ format: 1, process: "id", host: "h", pid: 1, startedAt: 1, version: "1.2.3" },
    ...{ records: ["hash"], more: 0 },
  };
  const read = (targets?: unknown) => parseProcessRecord(JSON.stringify({ ...record, targets }));
  const good = { record: "hash", names: ["a"], more: 0 };

  test("is parsed with and without targets", () => {
    expect(read([good])).toMatchObject({ targets: [good] });
    expect(read()).toMatchObject({ process: "id" });
    expect(read()).not.toHaveProperty("targets");
    const most = listOne(...named(200, 100));
    expect(read([most])).toMatchObject({ targets: [most] });
  });

  test.each([
    ["no list", { hash: good }],
    ["nothing", null],
    ["entries of another kind", [["a"]]],
    ["no hash", [{ ...good, record: undefined }]],
    ["no names", [{ ...good, names: undefined }]],
    ["a name that is none", [{ ...good, names: ["a", 1] }]],
    ["an empty name", [{ ...good, names: [""] }]],
    ["a name of 101 characters", [{ ...good, names: ["x".repeat(101)] }]],
    ["201 names", [{ ...good, names: named(201) }]],
    ["a negative number", [{ ...good, more: -1 }]],
    ["no number", [{ ...good, more: "1" }]],
  ])("is damaged by targets with %s", (_, targets) => {
    expect(read(targets)).toBe("damaged");
  });
});
