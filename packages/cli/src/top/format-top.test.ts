import { expect, test } from "vitest";
import { formatTop } from "./format-top.ts";
import type { UsageTop } from "./usage-top.ts";

const TOP: UsageTop = {
  limiter: "login",
  source: "usage",
  by: "denied",
  at: 0,
  from: 0,
  shadow: false,
  total: { allowed: 6, denied: 164, degraded: 0 },
  wouldBeDenied: 0,
  decisions: 109,
  counted: 164,
  unlisted: 0,
  subjects: [{ dimension: "default", subject: "203.0.113.7", count: 109, error: 0 }],
};

const plain = (_: unknown, text: string): string => text;

test("the share of a subject is that of all denials or requests, also of those not counted by subject", () => {
  expect(
    formatTop(TOP, plain, 100),
  ).toBe(`login: 6 allowed, 164 denied, 0 of these decided without Redis

SUBJECT       DENIED   MAX ERROR    SHARE
203.0.113.7      109               66.5 %
55 denials not counted by subject yet: processes send subjects every 30 seconds.
`);
  expect(formatTop({ ...TOP, by: "used", counted: 170 }, plain, 100)).toMatch(
    /203\.0\.113\.7 +109 +64\.1 %\n61 requests not counted by subject/,
  );
});

test("of a limiter in shadow mode, the requests that would be denied are shown apart from denials", () => {
  const total = { allowed: 170, denied: 0, degraded: 0 };
  const top = { ...TOP, shadow: true, total, wouldBeDenied: 164 };
  expect(
    formatTop(top, plain, 100),
  ).toBe(`login: in shadow mode, 170 allowed, 164 of these would be denied, 0 of these decided without Redis

SUBJECT       WOULD BE DENIED   MAX ERROR    SHARE
203.0.113.7               109               66.5 %
55 requests that would be denied not counted by subject yet: processes send subjects every 30 seconds.
`);
  expect(formatTop({ ...top, by: "used", counted: 170 }, plain, 100)).toMatch(
    /SUBJECT +REQUESTS [\s\S]* 64\.1 %\n61 requests not counted by subject/,
  );
});

test("shares are of the time since which subjects are counted, which is named where it is not the span", () => {
  const top = { ...TOP, from: Date.UTC(2026, 2, 18, 14, 40), decisions: 200, counted: 218 };
  expect(formatTop(top, plain, 100)).toMatch(
    /203\.0\.113\.7 +109 +50\.0 %\nCounts and shares are of 218 denials since 2026-03-18 14:40:00 UTC\.\n18 denials not counted/,
  );
});
