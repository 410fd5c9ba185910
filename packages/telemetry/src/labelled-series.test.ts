import { describe, expect, test } from "vitest";
import { LabelledSeries } from "./labelled-series.ts";
import { SeriesBudget } from "./output.ts";

function labelled(series: number, budget = new SeriesBudget()) {
  const made: object[] = [];
  const kept = new LabelledSeries<object>({
    names: ["first", "second"],
    series,
    budget,
    make(labels) {
      made.push(labels);
      return labels;
    },
  });
  return { kept, made };
}

describe("values of a label", () => {
  test("have separate items up to 200, and keep their item", () => {
    const { kept, made } = labelled(1);
    for (let i = 0; i < 300; i += 1) kept.of(`${i}`);
    expect(kept.of("199")).toEqual({ first: "199" });
    expect(kept.of("199")).toBe(made[199]);
    expect(kept.of("200")).toEqual({ first: "other" });
    expect(kept.of("299")).toBe(kept.of("200"));
    expect(made).toHaveLength(201);
  });

  test("count once towards the maximum, in any series", () => {
    const budget = new SeriesBudget();
    const one = labelled(1, budget).kept;
    const two = labelled(1, budget).kept;
    for (let i = 0; i < 200; i += 1) one.of(`${i}`);
    expect(two.of("7")).toEqual({ first: "7" });
    expect(two.of("200")).toEqual({ first: "other" });
  });

  test("of the second label become other before those of the first", () => {
    const { kept } = labelled(1);
    for (let i = 0; i < 200; i += 1) kept.of("a", `${i}`);
    expect(kept.of("a", "200")).toEqual({ first: "a", second: "other" });
    expect(kept.of("b", "201")).toEqual({ first: "b", second: "other" });
    expect(kept.of("b", "7")).toEqual({ first: "b", second: "7" });
    for (let i = 0; i < 200; i += 1) kept.of(`${i}`);
    expect(kept.of("c", "201")).toEqual({ first: "other", second: "other" });
    expect(kept.of("c")).toEqual({ first: "other" });
  });

  test("named other share the item for other", () => {
    const { kept } = labelled(4_900);
    expect(kept.of("other")).toEqual({ first: "other" });
    expect(kept.of("other", "other")).toEqual({ first: "other", second: "other" });
  });
});

test("a process has at most 5,000 series, even with few label values", () => {
  // 50 times 97 are all but the 150 that are reserved for `other`.
  const { kept } = labelled(97);
  for (let i = 0; i < 50; i += 1) expect(kept.of(`${i}`)).toEqual({ first: `${i}` });
  expect(kept.of("50")).toEqual({ first: "other" });
  expect(kept.of("49")).toEqual({ first: "49" });
});
