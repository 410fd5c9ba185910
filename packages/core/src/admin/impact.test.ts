import { describe, expect, test } from "vitest";
import { fixedWindow, gcra } from "../index.ts";
import { hashSubject } from "../usage/top-subjects.ts";
import type { RecentUsage } from "./impact.ts";
import { formatBlockImpact, formatDenyListImpact, formatOverrideImpact } from "./impact.ts";
import type { Usage, UsageSpan } from "./usage.ts";

const AT = 1_800_000_000_000;

interface Minute {
  readonly allowed: number;
  readonly denied?: number;
  readonly degraded?: number;
}

interface Counted {
  readonly used: Readonly<Record<string, number>>;
  readonly denied?: Readonly<Record<string, number>>;
  /** The dimensions that count the subjects. Default one. */
  readonly dimensions?: readonly string[];
  /** The subjects that are stored as hashes. */
  readonly hashed?: boolean;
  readonly maxUnlisted?: number;
  /** The allowed decisions of the span, which is shorter than the time of the lists. Default 0. */
  readonly allowed?: number;
  /** The decisions of each minute, the last one first. Default: too many in the older ones to tell what is new. */
  readonly perMinute?: readonly Minute[];
}

const BUSY = [{ allowed: 0 }, ...Array.from({ length: 9 }, () => ({ allowed: 99_999 }))];

/** Minutes as the steps of ten seconds in which they are counted: each has a sixth of the decisions. */
function stepsOf({ perMinute = BUSY }: Counted): readonly UsageSpan[] {
  return perMinute
    .flatMap(({ allowed, denied = 0, degraded = 0 }, minute) =>
      Array.from({ length: 6 }, (_, step) => ({
        from: AT - minute * 60_000 - (step + 1) * 10_000,
        ...{ allowed: allowed / 6, denied: denied / 6, degraded: degraded / 6 },
      })),
    )
    .reverse();
}

/** A minute's decisions, and those of each of the 14 minutes before: usage has a quarter of an hour, the lists ten minutes. */
function lastAndEarlier(last: Minute, earlier: Minute): readonly Minute[] {
  return [last, ...Array.from({ length: 14 }, () => earlier)];
}

/** Usage of limiters over some minutes, by name. */
function usageOf(limiters: Readonly<Record<string, Counted>>, minutes: number): Usage {
  const listOf = (
    counts: Readonly<Record<string, number>>,
    { hashed, maxUnlisted = 0, dimensions = ["default"] }: Counted,
  ) => ({
    top: dimensions.flatMap((dimension) =>
      Object.entries(counts).map(([subject, count]) => ({
        ...{ dimension, count, error: 0 },
        ...(hashed === true ? { hash: hashSubject(subject) } : { subject }),
      })),
    ),
    total: 0,
    maxUnlisted,
  });
  return {
    at: AT,
    unreadable: [],
    limiters: Object.entries(limiters).map(([name, counted]) => ({
      name,
      total: {
        allowed: counted.allowed ?? 0,
        denied: Object.values(counted.denied ?? {}).reduce((all, one) => all + one, 0),
        degraded: 0,
      },
      tenSeconds: stepsOf(counted),
      subjects: {
        from: AT - minutes * 60_000,
        used: listOf(counted.used, counted),
        denied: listOf(counted.denied ?? {}, counted),
      },
    })) as unknown as Usage["limiters"],
  };
}

/** An hour of usage, the same as in the last ten minutes. */
function recentUsage(limiters: Readonly<Record<string, Counted>>): RecentUsage {
  return { hour: usageOf(limiters, 60), recent: usageOf(limiters, 10) };
}

describe("the preview of a block", () => {
  const subject = { default: "ann" };

  test("says how many requests the client sends, and how many of them are denied already", () => {
    const usage = recentUsage({ api: { used: { ann: 420 }, denied: { ann: 20 } } });
    expect(formatBlockImpact(usage, "api", subject)).toBe(
      "It sent 42 requests a minute in the last 10 minutes, of which 2 were denied.",
    );
  });

  test("says what an attack that began a minute ago sent at least since then", () => {
    const perMinute = lastAndEarlier({ allowed: 720 }, { allowed: 24 });
    const usage = recentUsage({ api: { used: { ann: 720 }, perMinute } });
    // Others or not, at most 232 + 120 of them came more than 50 seconds ago, or were sent late from before.
    expect(formatBlockImpact(usage, "api", subject)).toBe(
      "It sent 72 requests a minute in the last 10 minutes, and at least 368 in the last one.",
    );
    const steady = {
      used: { ann: 600 },
      perMinute: lastAndEarlier({ allowed: 60 }, { allowed: 60 }),
    };
    expect(formatBlockImpact(recentUsage({ api: steady }), "api", subject)).toBe(
      "It sent 60 requests a minute in the last 10 minutes.",
    );
  });

  test.each<readonly [string, Minute, number]>([
    ["that came before the ten minutes, and were sent in them", { allowed: 15_000 }, 10],
    ["that waited for Redis", { allowed: 24, degraded: 6 }, 10],
    ["in lists that began before what is counted by ten seconds", { allowed: 24 }, 15],
  ])("does not take requests for new %s", (_, eleventh, minutes) => {
    const earlier = Array.from({ length: 10 }, () => ({ allowed: 24 }));
    const perMinute = [...earlier, eleventh, ...earlier.slice(0, 4)];
    const usage = usageOf({ api: { used: { ann: 10_000 }, perMinute } }, minutes);
    expect(formatBlockImpact({ hour: usage, recent: usage }, "api", subject)).not.toContain(
      "in the last one",
    );
  });

  test("says that other clients may hide an attack, if all together sent far more in the last minute", () => {
    const usageWith = (allowed: number) =>
      recentUsage({
        api: { used: { ann: 720 }, perMinute: lastAndEarlier({ allowed }, { allowed: 1_200 }) },
      });
    expect(formatBlockImpact(usageWith(2_400), "api", subject)).toBe(
      "It sent 72 requests a minute in the last 10 minutes. All clients together sent 2400 in the last minute and 1222 a minute before, so its own may have grown.",
    );
    expect(formatBlockImpact(usageWith(1_500), "api", subject)).not.toContain("All clients");
  });

  test("bounds the requests of a client that is not listed, and finds one by its hash", () => {
    const usage = recentUsage({ api: { used: { eve: 100 }, maxUnlisted: 30 } });
    expect(formatBlockImpact(usage, "api", subject)).toContain(
      "It sent at most 30 requests in the last 10 minutes.",
    );
    const hashed = recentUsage({ api: { used: { ann: 10 }, hashed: true } });
    expect(formatBlockImpact(hashed, "api", subject)).toContain("It sent 1 request a minute");
    const none = recentUsage({ api: { used: { eve: 100 } } });
    expect(formatBlockImpact(none, "api", subject)).toContain("It sent no request in");
  });

  test("says a rate of less than one request in ten minutes, too", () => {
    const usage = { hour: usageOf({}, 60), recent: usageOf({ api: { used: { ann: 1 } } }, 15) };
    expect(formatBlockImpact(usage, "api", subject)).toContain("It sent 0.07 requests a minute");
  });

  test("says that it cannot know without usage", () => {
    const other = recentUsage({ other: { used: { ann: 1 } } });
    expect(formatBlockImpact(other, "api", subject)).toContain("not known: no usage is recorded");
    expect(formatBlockImpact(undefined, "api", subject)).toContain("usage could not be read");
  });
});

describe("the preview of a deny-list entry", () => {
  test("counts the active clients in the network, each once though several limiters count it", () => {
    const used = { "203.0.113.7": 60, "203.0.113.8": 40, "198.51.100.1": 900 };
    const usage = recentUsage({ api: { used }, login: { used: { "203.0.113.7": 20 } } });
    expect(formatDenyListImpact(usage, "203.0.113.0/24")).toBe(
      "2 clients of the last hour are in it (203.0.113.7, 203.0.113.8), with 10 requests a minute in the last 10 minutes.",
    );
    expect(formatDenyListImpact(usage, "192.0.2.0/24")).toBe(
      "No client of the last hour is in it.",
    );
  });

  test("says what the clients together sent at least in the last minute, in the limiter where that is most", () => {
    const used = { "203.0.113.7": 400, "203.0.113.8": 320, "198.51.100.1": 900 };
    const api = { used, perMinute: lastAndEarlier({ allowed: 720 }, { allowed: 24 }) };
    const usage = recentUsage({ api, login: { used: { "203.0.113.7": 20 } } });
    const sentence =
      /with 72 requests a minute in the last 10 minutes, and at least 368 in the last one\.$/;
    expect(formatDenyListImpact(usage, "203.0.113.0/24")).toMatch(sentence);
    // A request counts in each dimension of a limiter.
    const twice = recentUsage({ api: { ...api, dimensions: ["default", "ip"] } });
    expect(formatDenyListImpact(twice, "203.0.113.0/24")).toMatch(sentence);
  });

  test("says at least, or that there may be others, if the lists do not have every client", () => {
    const usage = recentUsage({ api: { used: { "203.0.113.7": 60 }, maxUnlisted: 5 } });
    expect(formatDenyListImpact(usage, "203.0.113.0/24")).toMatch(
      /^At least 1 client of .* is in it/,
    );
    expect(formatDenyListImpact(usage, "192.0.2.0/24")).toContain("there may be others");
  });

  test("finds an address by its hash, an IPv6 address in its network, and a network not at all by hashes", () => {
    const used = { "203.0.113.7": 60, "2001:db8:0:1::/64": 10 };
    const hashed = recentUsage({ api: { used, hashed: true } });
    expect(formatDenyListImpact(hashed, "203.0.113.7")).toContain("is in it (203.0.113.7)");
    expect(formatDenyListImpact(hashed, "203.0.113.0/24")).toContain('subjects: "plain"');
    const plain = recentUsage({ api: { used } });
    expect(formatDenyListImpact(plain, "2001:db8:0:1::9")).toContain("(2001:db8:0:1::/64)");
    expect(formatDenyListImpact(plain, "2001:db8::/32")).toContain("(2001:db8:0:1::/64)");
  });

  test("says that it cannot know without usage, or where limiters do not count by address", () => {
    expect(formatDenyListImpact(undefined, "203.0.113.7")).toContain("could not be read");
    expect(formatDenyListImpact(recentUsage({}), "203.0.113.7")).toContain("no usage is recorded");
    const byAccount = recentUsage({ api: { used: { ann: 9 } } });
    expect(formatDenyListImpact(byAccount, "203.0.113.7")).toContain("usage lists no addresses");
  });
});

describe("the preview of an override", () => {
  const policy = gcra({ limit: 10, window: "1m", name: "rate" });
  const change = (limit: number) => ({ limiter: "api", limits: { rate: { limit } } });

  test("says how many clients and requests it would deny at least", () => {
    const usage = recentUsage({
      api: { used: { ann: 600, bob: 300, eve: 5 }, denied: { ann: 10 } },
    });
    // In 10 minutes it admits 10 + 100 at most: 490 of ann's requests and 190 of bob's are beyond that.
    expect(formatOverrideImpact(usage, [policy], change(10), [])).toEqual([
      "The new limits would deny at least 68 requests a minute, of at least 2 active clients, if each costs 1.",
      "Its limits denied 2.5 requests a minute in the last 4 minutes.",
    ]);
    expect(formatOverrideImpact(usage, [policy], change(100), [])[0]).toContain("No listed client");
  });

  test("goes by the last minute if more requests came in it", () => {
    const perMinute = lastAndEarlier({ allowed: 60, denied: 660 }, { allowed: 24 });
    const usage = recentUsage({ api: { used: { ann: 720 }, denied: { ann: 660 }, perMinute } });
    // At least 368 of her requests came in the last minute, and it admits 20 at most. In 10 minutes it admits 110.
    expect(formatOverrideImpact(usage, [policy], change(10), [])).toEqual([
      "The new limits would deny at least 348 requests a minute, of at least 1 active client, if each costs 1.",
      "Its limits denied 165 requests a minute in the last 4 minutes, and at least 550 in the last one.",
    ]);
    const ofAnn = { ...change(10), subject: { default: "ann" } };
    expect(formatOverrideImpact(usage, [policy], ofAnn, [])[1]).toBe(
      "Its limits denied 66 requests a minute in the last 10 minutes, and at least 550 in the last one.",
    );
  });

  test("leaves out clients that have limits of their own, and for one client the others", () => {
    const usage = recentUsage({ api: { used: { ann: 600, bob: 300 } } });
    const ofAnn = { ...change(900), subject: { default: "ann" } };
    expect(formatOverrideImpact(usage, [policy], change(10), [ofAnn])[0]).toContain(
      "at least 19 requests a minute, of at least 1 active client",
    );
    const forBob = { ...change(10), subject: { default: "bob" } };
    expect(formatOverrideImpact(usage, [policy], forBob, [])[0]).toBe(
      "The new limits would deny at least 19 requests a minute, if each costs 1.",
    );
  });

  test("counts the requests of all clients for a global limit, in the minutes of the usage", () => {
    const all = fixedWindow({ limit: 100, window: "1m", name: "all", per: "global" });
    const lower = { limiter: "api", limits: { all: { limit: 10 } } };
    const usage = recentUsage({ api: { used: { ann: 5 }, allowed: 80 } });
    // In 4 minutes it admits 50 at most, in the 10 minutes of the lists 110.
    expect(formatOverrideImpact(usage, [[policy, all]], lower, [])[0]).toBe(
      "The new limits would deny at least 7.5 requests a minute, if each costs 1.",
    );
    const ofAll = { ...lower, subject: { global: "*" } };
    expect(formatOverrideImpact(usage, [[policy, all]], ofAll, [])[0]).toContain("at least 7.5");
    expect(formatOverrideImpact(usage, [[policy, all]], lower, [ofAll])[0]).toContain("No listed");
  });

  test("leaves out a global limit for an override of one client", () => {
    const all = fixedWindow({ limit: 10, window: "1m", name: "all", per: "global" });
    const usage = recentUsage({ api: { used: { ann: 5 }, allowed: 9_000 } });
    const ofAnn = { ...change(20), subject: { default: "ann" } };
    expect(formatOverrideImpact(usage, [[policy, all]], ofAnn, [])[0]).toContain("It never sent");
  });

  test("counts what a window that is longer than the usage certainly denies", () => {
    const daily = fixedWindow({ limit: 100, window: "1d", name: "rate" });
    const usage = recentUsage({ api: { used: { ann: 600 } } });
    // Two windows may begin in the time of the usage.
    expect(formatOverrideImpact(usage, [daily], change(100), [])[0]).toContain(
      "at least 40 requests a minute",
    );
  });

  test("says what is denied now, for shadow mode", () => {
    const usage = recentUsage({ api: { used: { ann: 600 }, denied: { ann: 50 } } });
    const shadow = (on: boolean) =>
      formatOverrideImpact(usage, [policy], { limiter: "api", shadow: on }, []);
    expect(shadow(true)).toEqual([
      "It denies no request. Its limits denied 13 requests a minute in the last 4 minutes.",
    ]);
    expect(shadow(false)[0]).toContain("Outside of shadow mode, these get denied.");
    expect(formatOverrideImpact(undefined, [policy], change(10), [])).toEqual([
      "How many requests it would deny is not known: usage could not be read.",
    ]);
  });
});
