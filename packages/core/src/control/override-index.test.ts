import { describe, expect, test } from "vitest";
import { OverrideIndex, overrideIndexOf, overridesFor } from "./override-index.ts";
import type { Override } from "./record.ts";

const NOW = 1_800_000_000_000_000;

const override = (more: Partial<Override> = {}): Override => ({
  limiter: "api",
  shadow: true,
  from: NOW,
  until: null,
  ...more,
});

const inForce = (
  overrides: readonly Override[],
  subjects: Readonly<Record<string, string>>,
  now = NOW,
) => new OverrideIndex(overrides).find((dimension) => subjects[dimension], now);

describe("the active overrides of a request", () => {
  const all = override();
  const ada = override({ subject: { default: "ada" } });
  const adaAtAcme = override({ subject: { default: "ada", tenant: "acme" } });
  const acme = override({ subject: { tenant: "acme" } });

  test("are those for all subjects, then those for its own subject, which take precedence", () => {
    const overrides = [adaAtAcme, ada, all, acme];
    expect(inForce(overrides, {})).toEqual([all]);
    expect(inForce(overrides, { default: "bob", tenant: "other" })).toEqual([all]);
    expect(inForce(overrides, { default: "ada" })).toEqual([all, ada]);
    expect(inForce(overrides, { tenant: "acme", default: "ada" })).toEqual([
      all,
      ada,
      acme,
      adaAtAcme,
    ]);
  });

  test("are those for exactly its subject", () => {
    for (const subject of ["Ada", "ada ", '"ada"', "null", "acme"]) {
      expect(inForce([ada, acme], { default: subject, tenant: subject })).toEqual(
        subject === "acme" ? [acme] : [],
      );
    }
    const both = override({ subject: { default: 'a","b', tenant: "c" } });
    expect(inForce([both], { default: "a", tenant: 'b","c' })).toEqual([]);
  });

  test("include the later of two for one subject", () => {
    const later = override({ shadow: false, subject: { tenant: "acme", default: "ada" } });
    expect(inForce([adaAtAcme, later], { default: "ada", tenant: "acme" })).toEqual([later]);
  });

  test("expire by the server's clock, and begin as soon as they are read", () => {
    const short = override({ from: NOW + 2_000_000, until: NOW + 5_000_000 });
    expect(inForce([short], {}, NOW)).toEqual([short]);
    expect(inForce([short], {}, NOW + 4_999_999)).toEqual([short]);
    expect(inForce([short], {}, NOW + 5_000_000)).toEqual([]);
  });
});

describe("the overrides of a record", () => {
  test("for a subject of a limiter are ordered, the one that takes precedence last", () => {
    const ofTenant = override({ subject: { tenant: "acme" } });
    const ofOthers = override({ subject: { user: "bob" } });
    const ofUser = override({ subject: { user: "ada" }, until: NOW + 1_000_000 });
    const overrides = [ofOthers, ofTenant, override({ limiter: "login" }), ofUser];
    const record = { version: 1, overrides, invalidations: [] };
    const found = (at: number) =>
      overridesFor(record, "api", { tenant: "acme", user: "ada" }, NOW / 1_000 + at);
    // Overrides by user came first, so those by tenant take precedence over them, for any subject.
    expect(found(999)).toEqual([ofUser, ofTenant]);
    expect(found(1_000)).toEqual([ofTenant]);
    expect(overridesFor(record, "other", {}, 0)).toEqual([]);
  });

  test("exist only for the limiters that the record names", () => {
    const record = {
      version: 1,
      overrides: [override(), override({ limiter: "login" })],
      invalidations: [],
    };
    expect(overrideIndexOf(record, "api")).toBeInstanceOf(OverrideIndex);
    expect(overrideIndexOf(record, "login")).toBeInstanceOf(OverrideIndex);
    expect(overrideIndexOf(record, "toString")).toBeUndefined();
    expect(
      overrideIndexOf({ version: 0, overrides: [], invalidations: [] }, "api"),
    ).toBeUndefined();
  });

  test("are indexed once for all limiters", () => {
    const record = { version: 1, overrides: [override()], invalidations: [] };
    expect(overrideIndexOf(record, "api")).toBe(overrideIndexOf(record, "api"));
  });

  test("of a thousand subjects are looked up once for each set of dimensions that they name", () => {
    const overrides = Array.from({ length: 1_000 }, (_, i) =>
      override({ subject: { default: `user ${i}` } }),
    );
    const known = new OverrideIndex(overrides);
    let asked = 0;
    const found = known.find(() => {
      asked += 1;
      return "user 567";
    }, NOW);
    expect(found).toEqual([overrides[567]]);
    expect(asked).toBe(1);
  });
});
