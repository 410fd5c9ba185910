import { beforeEach, describe, expect, test } from "vitest";
import { ReadBudget } from "./read-budget.ts";
import type { Visitor } from "./visitor.ts";

const visitor = (by: string | null): Visitor => ({
  by,
  actions: [],
  isRestricted: false,
  canSee: () => true,
});
const ANN = visitor("ann");

describe("a visitor who exceeds the read budget", () => {
  let now: number;
  let budget: ReadBudget;

  beforeEach(async () => {
    now = 1_700_000_000_000;
    budget = new ReadBudget(() => now);
    await budget.spend(ANN, 1_900);
  });

  const tooMany = (seconds: number) =>
    expect.objectContaining({ status: 429, headers: { "retry-after": String(seconds) } });

  test("is refused at once, also for less, until the refused request would be admitted", async () => {
    await budget.requireNotRefused(ANN);
    // 100 of 500 are left, and 200 come back in a second.
    await expect(budget.spend(ANN, 500)).rejects.toEqual(tooMany(2));
    await expect(budget.spend(ANN, 1)).rejects.toEqual(tooMany(2));
    now += 1_999;
    await expect(budget.requireNotRefused(ANN)).rejects.toEqual(tooMany(1));
    now += 1;
    await budget.requireNotRefused(ANN);
    await budget.spend(ANN, 500);
  });

  test("takes nothing from the budgets of others, named or not", async () => {
    await expect(budget.spend(ANN, 500)).rejects.toEqual(tooMany(2));
    for (const by of ["bob", null]) {
      await budget.requireNotRefused(visitor(by));
      await budget.spend(visitor(by), 2_000);
    }
  });

  test("can look up more limiters than the budget holds as soon as it is full", async () => {
    await expect(budget.spend(ANN, 5_000)).rejects.toEqual(tooMany(10));
    now += 9_500;
    await budget.spend(ANN, 5_000);
  });
});
