import { createHash } from "node:crypto";
import { gcra, slidingLog } from "@headgate/core";
import { describe, expect, test } from "vitest";
import { describePolicy } from "../replay/describe-policy.ts";
import type { DeniedClient, PolicyResult, ReplayResult } from "../replay/result.ts";
import { renderReport } from "./render-report.ts";

const FROM = Date.UTC(2026, 2, 3, 5);
const MEGABYTE = 1_048_576;

function clientOf(client: string, changes: Partial<DeniedClient> = {}): DeniedClient {
  return {
    client,
    requests: 9,
    denied: 3,
    firstDeniedAt: FROM,
    lastDeniedAt: FROM + 60_000,
    longestWaitMs: 2_000,
    timeline: { requests: [4, 5, 0], denied: [1, 2, 0] },
    ...changes,
  };
}

function policyOf(changes: Partial<PolicyResult> = {}): PolicyResult {
  const { limits = gcra({ limit: 30, window: "1m" }) } = changes;
  return {
    name: "30 a minute",
    limits,
    description: describePolicy(limits),
    allowed: 17,
    denied: 3,
    clientsDenied: 1,
    timeline: [1, 2, 0],
    clients: [clientOf("192.0.2.1")],
    waitsMs: { p50: 1_000, p90: 2_000, p99: 2_000, max: 2_000 },
    evicted: 0,
    ...changes,
  };
}

function resultOf(
  changes: Partial<Omit<ReplayResult, "log">> & { log?: Partial<ReplayResult["log"]> } = {},
): ReplayResult {
  const log = {
    files: ["access.log"],
    lines: 20,
    requests: 20,
    clients: 2,
    malformed: 0,
    examples: [],
    reordered: 0,
    late: 0,
    from: FROM,
    to: FROM + 170_000,
    ...changes.log,
  };
  return {
    columnMs: 60_000,
    timeline: [10, 5, 5],
    policies: [policyOf()],
    peaks: [
      {
        windowMs: 60_000,
        counts: [
          { peak: 2, clients: 1 },
          { peak: 40, clients: 1 },
        ],
        error: 0,
      },
    ],
    ...changes,
    log,
  };
}

/** The text of a page, without its elements. */
function wordsOf(page: string): string {
  return page
    .replace(/<style>[\s\S]*?<\/style>|<[^>]*>/g, " ")
    .replace(/\s+/g, " ")
    .replace(/ (?=[,.;:)])/g, "");
}

/** The words of the heading that a page begins with, and of its title. */
function verdictOf(page: string): readonly string[] {
  return [/<h1>[\s\S]*<\/h1>/, /<title>[^<]*<\/title>/].map((one) =>
    wordsOf(one.exec(page)?.[0] ?? "").trim(),
  );
}

describe("the report begins with the verdict", () => {
  test.each([
    [policyOf(), "This limit would have denied 1 of 2 clients: 192.0.2.1."],
    [
      policyOf({ denied: 0, clientsDenied: 0, clients: [] }),
      "This limit would have denied none of 2 clients.",
    ],
    [
      policyOf({
        limits: [gcra({ limit: 30, window: "1m" }), gcra({ limit: 9, window: "1s" })],
        clientsDenied: 2,
        clients: [clientOf("a"), clientOf("b")],
      }),
      "These limits would have denied 2 of 2 clients: a and b.",
    ],
    [
      policyOf({ clientsDenied: 5, clients: [clientOf("a"), clientOf("b")] }),
      "This limit would have denied 5 of 2 clients, a most often.",
    ],
  ])("on one policy: case %#", (policy, words) => {
    const page = renderReport(resultOf({ policies: [policy] }));
    const [heading, title] = verdictOf(page);
    expect(heading).toBe(words);
    expect(title).toBe(heading);
    // The heading is the first element.
    expect(page.indexOf("<h1>")).toBe(page.indexOf("<main>") + "<main>\n".length);
  });

  test("on each of several policies", () => {
    const looser = policyOf({ name: "looser", denied: 0, clientsDenied: 0, clients: [] });
    const [heading] = verdictOf(renderReport(resultOf({ policies: [policyOf(), looser] })));
    expect(heading?.replace(/ (?=[”.])|(?<=“) /g, "")).toBe(
      "“30 a minute” would have denied 1 of 2 clients: 192.0.2.1. “looser” would have denied none of 2 clients.",
    );
  });
});

test("a report has the limit in words, its effects and their times", () => {
  const page = renderReport(resultOf());
  const words = wordsOf(page);
  expect(words).toContain(
    "20 requests from 2 clients, 2026-03-03, 05:00 to 05:02 UTC, read from access.log.",
  );
  expect(words).toContain("30 requests at once, then one every 2 seconds, per client address");
  expect(words).toContain("gcra({ limit: 30, window: &quot;1m&quot; })");
  expect(words).toContain("1 of 2 clients (50.0 %) would not have been affected.");
  expect(words).toContain(
    "192.0.2.1: 3 of its 9 requests (33.3 %) would have been denied. The longest wait it would have been told: 2 s.",
  );
  expect(words).toContain("3 of 20 requests (15.0 %) would have been denied.");
  expect(words).toContain(
    "Requests over time. Most would have been denied at 2026-03-03 05:01:00 UTC: 2 within 1 min.",
  );
  expect(words).toMatch(
    /192\.0\.2\.1 .* 9 3 \(33\.3 %\) 2026-03-03 05:00:00 2026-03-03 05:01:00 2 s/,
  );
  expect(words).toContain("The limit allows 30; 1 client made more.");
});

test("the report says that a log was out of order, and what that means", () => {
  expect(wordsOf(renderReport(resultOf()))).not.toContain("out of order in the log");
  expect(wordsOf(renderReport(resultOf({ log: { reordered: 9_447 } })))).toContain(
    "read from access.log. 9,447 requests were out of order in the log. They were sorted by time before the replay, so this does not affect the result.",
  );
});

test("axes have names with units, bars the names of policies, and lines those of limits", () => {
  const policies = [
    policyOf({ name: "strict" }),
    policyOf({ name: "a name of more than thirty letters" }),
  ];
  const texts = [
    ...renderReport(resultOf({ policies })).matchAll(/<text[^>]*>([^<]*)<\/text>/g),
  ].map((match) => match[1]);
  for (const text of [
    "requests per 1 min",
    "time of the log (UTC)",
    "requests of a client within 1 min",
    "clients",
    "limit 30",
    "strict",
    "a name of more than thirty le…",
    "a name of m…",
    "50.0\u00a0% of clients",
    "15.0\u00a0% of requests",
  ]) {
    expect(texts).toContain(text);
  }
});

test("the caveats name malformed lines, late requests, evictions and approximations, if there are any", () => {
  expect(renderReport(resultOf())).not.toContain("Caveats");
  const [peaks] = resultOf().peaks;
  const careful = renderReport(
    resultOf({
      log: {
        malformed: 2,
        late: 1,
        examples: [{ file: "a.log", number: 7, text: "-", reason: "no HTTP request" }],
      },
      policies: [policyOf({ evicted: 4 })],
      peaks: [{ windowMs: 1_000, counts: peaks?.counts ?? [], error: 0.01 }],
    }),
  );
  const words = wordsOf(careful);
  expect(words).toContain("2 lines skipped: not requests.");
  expect(words).toContain("1 request was too far out of order to be sorted.");
  expect(words).toContain("4 times, the count of a client started over.");
  expect(words).toContain("the real ones may be up to 1 % higher");
  expect(words).toContain("Within 1 s, the busiest client made 40 requests, or up to 1 % more");
  expect(words).toContain("a.log:7 no HTTP request");
});

test("the report of a log without requests says so", () => {
  const page = renderReport(
    resultOf({
      log: { files: ["-"], lines: 0, requests: 0, clients: 0, from: null, to: null },
      timeline: [],
      policies: [
        policyOf({
          allowed: 0,
          denied: 0,
          clientsDenied: 0,
          timeline: [],
          clients: [],
          waitsMs: null,
        }),
      ],
      peaks: [{ windowMs: 60_000, counts: [], error: 0 }],
    }),
  );
  expect(verdictOf(page)[0]).toBe("This log contains no requests.");
  expect(page).not.toMatch(/NaN|Infinity|undefined/);
});

test("a log whose requests have the same time is drawn as one column", () => {
  const page = renderReport(
    resultOf({
      log: { requests: 3, clients: 1, from: FROM, to: FROM },
      columnMs: 1_000,
      timeline: [3],
      policies: [policyOf({ allowed: 3, denied: 0, timeline: [0], clients: [], clientsDenied: 0 })],
      peaks: [{ windowMs: 1_000, counts: [{ peak: 3, clients: 1 }], error: 0 }],
    }),
  );
  expect(page).not.toMatch(/NaN|Infinity|undefined/);
  expect(page).toMatch(/<path d="M44 145V[\d.]+H900V145Z" fill="var\(--admitted\)"/);
});

describe("hostile text in a log", () => {
  const HOSTILE = `<script>alert(1)</script>"'\`><img src=x onerror=alert(1)>&lt;\u202egpj.exe\u0000\u001b[31m\u2028\ud800a\u0301`;
  const page = renderReport(
    resultOf({
      log: {
        files: [HOSTILE, HOSTILE],
        malformed: 1,
        examples: [{ file: HOSTILE, number: 1, text: HOSTILE, reason: HOSTILE }],
      },
      policies: [
        policyOf({
          name: HOSTILE,
          limits: [
            gcra({ limit: 1, window: "1m", name: "a<b>" }),
            gcra({ limit: 1, window: "2m" }),
          ],
          clients: [clientOf(HOSTILE)],
        }),
      ],
    }),
  );

  test("is shown as text, and adds no element or attribute", () => {
    expect(page).not.toMatch(/<(?:script|img|iframe|object|embed|link|a)\b/i);
    expect(page).not.toMatch(/<[^>]*\son\w+=/i);
    expect(page).toContain("&lt;script&gt;alert(1)&lt;/script&gt;&quot;&#39;&#96;&gt;&lt;img");
    expect(page).toContain("&amp;lt;");
  });

  test("cannot reverse or hide text", () => {
    expect(page).not.toMatch(/[^\P{C}\n]|\p{Zl}|\p{Zp}|\p{M}/u);
    expect(page).toContain("\\u{202e}gpj.exe\\u{0}\\u{1b}[31m\\u{2028}\\u{d800}a\\u{301}");
  });
});

test("the page loads nothing, runs no script, and has only the style that its policy permits", () => {
  const page = renderReport(resultOf());
  const [, policy = ""] = /http-equiv="Content-Security-Policy" content="([^"]*)"/.exec(page) ?? [];
  const styles = [...page.matchAll(/<style>([\s\S]*?)<\/style>/g)].map(
    (match) => match[1] as string,
  );
  expect(styles).toHaveLength(1);
  const hash = createHash("sha256")
    .update(styles[0] as string)
    .digest("base64");
  expect(policy).toBe(
    `default-src 'none'; style-src 'sha256-${hash}'; base-uri 'none'; form-action 'none'`,
  );
  expect([...new Set(page.match(/ (?:fill|stroke)="[^"]*"/g))].sort()).toEqual(
    [
      ...["admitted", "denied", "quiet", "text"].map((use) => ` fill="var(--${use})"`),
      ' fill="none"',
      ...["admitted", "line", "policy"].map((use) => ` stroke="var(--${use})"`),
    ].sort(),
  );
  expect(page).not.toMatch(/ style=|<script|https?:|url\(|@import| src=| href=/);
});

test("each chart has a title and a description, each table a caption, and headings have levels", () => {
  const page = renderReport(resultOf({ policies: [policyOf(), policyOf()] }));
  const ids = [...page.matchAll(/ id="([^"]*)"/g)].map((match) => match[1]);
  expect(ids).toEqual([...new Set(ids)]);
  const charts = page.match(/<svg /g) ?? [];
  const named = page.match(
    /<svg role="img" aria-labelledby="(\S+)-title \1-text"[^>]*><title id="\1-title">[^<]+<\/title><desc id="\1-text">[^<]+<\/desc>/g,
  );
  expect(charts.length).toBe((1 + 2 + 1) * 2 + 2);
  expect(named).toHaveLength(charts.length);
  expect(
    page.match(/<table role="table"(?: class="cards")?><caption>.+?<\/caption>/g),
  ).toHaveLength((page.match(/<table/g) ?? []).length);
  expect(page.match(/<h1>/g)).toHaveLength(1);
});

test("equal results give equal pages", () => {
  expect(renderReport(resultOf())).toBe(renderReport(resultOf()));
});

test("a report has at most a megabyte, whatever is in the log", () => {
  const long = "<\u202e".repeat(200);
  const columns = 240;
  const jagged = Array.from({ length: columns }, (_, i) => (i % 2 === 0 ? 987_654_321 : 123_457));
  const some = jagged.map((count) => Math.floor(count / 3));
  const clients = Array.from({ length: 1_000 }, (_, i) =>
    clientOf(`${i}${long}`, { timeline: { requests: jagged, denied: some } }),
  );
  const policies = Array.from({ length: 150 }, (_, i) =>
    policyOf({
      name: `${i}${long}`,
      limits: Array.from({ length: 8 }, (__, limit) =>
        slidingLog({ limit: 1_000 + limit, window: "1m", name: `limit-${limit}` }),
      ),
      allowed: 10 ** 12,
      denied: 10 ** 11,
      clientsDenied: 1_000_000,
      timeline: some,
      clients,
      evicted: 5,
    }),
  );
  const peaks = Array.from({ length: 30 }, (_, i) => ({
    windowMs: (i + 1) * 1_000,
    counts: Array.from({ length: 4_000 }, (__, peak) => ({
      peak: peak + 1,
      clients: 4_000 - peak,
    })),
    error: 0.01,
  }));
  const page = renderReport({
    log: {
      files: Array.from({ length: 300 }, () => long),
      lines: 10 ** 12,
      requests: 10 ** 12,
      clients: 10 ** 7,
      malformed: 9,
      examples: Array.from({ length: 100 }, () => ({
        file: long,
        number: 1,
        text: long,
        reason: long,
      })),
      reordered: 1,
      late: 1,
      from: 0,
      to: columns * 86_400_000,
    },
    columnMs: 86_400_000,
    timeline: jagged,
    policies,
    peaks,
  });
  expect(Buffer.byteLength(page)).toBeLessThan(MEGABYTE);
  expect(page).toContain("142 more are not");
});
