import { fc, test } from "@fast-check/vitest";
import { expect } from "vitest";
import type { LogEntries } from "./sliding-log.ts";
import { createLogEntries } from "./sliding-log.ts";

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

type Moves = typeof steps extends fc.Arbitrary<infer Value> ? Value : never;

/** Makes the moves on the entries and on a plain list, which must agree after each; returns the list. */
function follow(entries: LogEntries, list: readonly Pair[], moves: Moves): readonly Pair[] {
  let model = [...list];
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
  return model;
}

test.prop([steps])("a log has the entries of a plain list", (moves) => {
  follow(createLogEntries(), [], moves);
});

test.prop([steps, steps, steps])(
  "a copy of a log changes independently",
  (moves, more, evenMore) => {
    const entries = createLogEntries();
    const model = follow(entries, [], moves);
    const [copy, untouched] = [entries.copy(), entries.copy()];
    const changed = follow(copy, model, more);
    expect(read(entries)).toEqual(model);
    expect(read(untouched)).toEqual(model);
    follow(copy.copy(), changed, evenMore);
    expect(read(copy)).toEqual(changed);
    expect(read(entries)).toEqual(model);
  },
);

test("a copy that was rewritten does not follow the original", () => {
  const entries = createLogEntries();
  for (const i of [1, 2, 3]) entries.append(i, i);
  const copy = entries.copy();
  copy.append(4, 4);
  copy.set(1, 9, 9);
  entries.set(2, 7, 7);
  entries.drop(2);
  entries.append(8, 8);
  const rest: Pair[] = [2, 3, 4].map((i) => [i, i]);
  expect(read(copy)).toEqual([[9, 9], ...rest]);
});
