import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import type { LogEntries } from "./log-entries.ts";
import { createLogEntries } from "./log-entries.ts";

type Pair = readonly [time: number, total: number];

function read(entries: LogEntries): Pair[] {
  return Array.from({ length: entries.count() }, (_, i) => [
    entries.time(i + 1),
    entries.total(i + 1),
  ]);
}

const number = fc.nat(1_000_000);

const steps = fc.array(
  fc.oneof(
    { weight: 5, arbitrary: fc.tuple(fc.constant("append" as const), number, number) },
    fc.tuple(fc.constant("drop" as const), number, number),
    fc.tuple(fc.constant("set" as const), number, number),
    fc.tuple(fc.constant("pop" as const), number, number),
  ),
  { maxLength: 200 },
);

test.prop([steps])("holds what a plain list would hold", (moves) => {
  const entries = createLogEntries();
  let model: Pair[] = [];
  for (const [move, a, b] of moves) {
    const i = model.length === 0 ? 0 : a % model.length;
    if (move === "append") {
      entries.append(a, b);
      model.push([a, b]);
    } else if (move === "drop") {
      entries.drop(i);
      model = model.slice(i);
    } else if (model.length > 0 && move === "set") {
      entries.set(i + 1, a, b);
      model[i] = [a, b];
    } else if (model.length > 0 && move === "pop") {
      entries.pop();
      model.pop();
    }
    expect(read(entries)).toEqual(model);
  }
  const copy = entries.copy();
  expect(read(copy)).toEqual(model);
  entries.append(1, 1);
  entries.set(1, 7, 7);
  expect(read(copy)).toEqual(model);
});
