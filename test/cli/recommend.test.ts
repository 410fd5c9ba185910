import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Recommendation } from "@headgate/replay";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { expectDocument } from "./json-schema.ts";
import { runCli } from "./run-cli.ts";

const SAMPLE = join(import.meta.dirname, "../../examples/access-log/sample.log");

function recommend(args: readonly string[], input = "") {
  return runCli(["recommend", ...args], { input });
}

async function recommendation(args: readonly string[], stdin?: string): Promise<Recommendation> {
  const { exitCode, stdout, stderr } = await recommend([...args, "--json"], stdin);
  expect([
    exitCode,
    stderr.replace(/^headgate: (.* line \d+ skipped, |skipped ).*\n/gm, ""),
  ]).toEqual([0, ""]);
  return expectDocument("recommend", stdout) as Recommendation;
}

/** So many requests of a client, one in so many seconds. */
function linesOf(client: string, count: number, every: number, from = 0): string[] {
  return Array.from({ length: count }, (_, i) => {
    const moment = new Date(Date.UTC(2026, 2, 3) + (from + i * every) * 1_000).toISOString();
    return `${client} - - [03/Mar/2026:${moment.slice(11, 19)} +0000] "GET / HTTP/1.1" 200 5\n`;
  });
}

/** The default, unless the log is so small that it is nobody. */
const TARGET = ["--deny-at-most", "0.1%"] as const;

let dir: string;
beforeAll(() => {
  dir = mkdtempSync(join(tmpdir(), "headgate-recommend-"));
});
afterAll(() => rmSync(dir, { recursive: true }));

describe("headgate recommend on the sample log", () => {
  test.each(["clients", "requests"] as const)(
    "proposes a limit that meets the target of %s, while one unit fewer misses it",
    async (of) => {
      const { target, proposal, log } = await recommendation([
        SAMPLE,
        ...["--deny-at-most", "1%", "--of", of, "--window", "1m"],
      ]);
      const count = of === "clients" ? "clientsDenied" : "denied";
      expect(target).toEqual({ of, percent: 1, maxDenied: Math.floor(log[of] / 100) });
      const [proposed, tighter, half, twice] = proposal.replays;
      expect(proposed).toMatchObject({ units: proposal.units, meetsTarget: true });
      expect(proposed?.[count]).toBeLessThanOrEqual(target.maxDenied);
      expect(tighter).toMatchObject({ units: proposal.units - 1, meetsTarget: false });
      expect(tighter?.[count]).toBeGreaterThan(target.maxDenied);
      expect(half?.denied).toBeGreaterThan(tighter?.denied ?? 0);
      expect(twice?.denied).toBeLessThan(proposed?.denied as number);
    },
  );

  test("scores the later half under the limit found on the earlier half alone, even if it misses the target", async () => {
    const lines = readFileSync(SAMPLE, "utf8");
    const whole = await recommendation(["-", ...TARGET, "--window", "10m"], lines);
    const { from } = whole.proposal.holdout ?? { from: 0 };
    // The sample is in order, but for its time zone.
    const earlier = lines.split("\n").filter((line) => {
      const at = /\[03\/Mar\/2026:([\d:]+) \+0100\]/.exec(line)?.[1];
      return at !== undefined && Date.parse(`2026-03-03T${at}+01:00`) < from;
    });
    const alone = await recommendation(["-", ...TARGET, "--window", "10m"], earlier.join("\n"));
    expect(whole.proposal.holdout?.units).toBe(alone.proposal.units);
    expect(whole.proposal.holdout?.meetsTarget).toBe(false);
    expect(whole.proposal.holdout?.clientsDenied).toBeGreaterThan(0);
    expect(whole.proposal.holdout?.proposal).toMatchObject({ meetsTarget: true, clientsDenied: 0 });
  });

  test("prints JSON of a fixed shape", async () => {
    const number = expect.any(Number);
    const score = { requests: number, denied: number, clients: number, clientsDenied: number };
    const replayed = { units: number, ...score, meetsTarget: expect.any(Boolean) };
    const { replay, ...document } = await recommendation([
      SAMPLE,
      "--window",
      "1m",
      "--deny-at-most",
      "1%",
    ]);
    expect(replay).toMatchObject({ columnMs: 300_000, log: { clients: 115, requests: 2_026 } });
    expect(replay.policies[0]?.description?.code).toMatch(
      /^gcra\(\{ limit: \d+, window: "1m" \}\)$/,
    );
    expect(document).toEqual({
      log: {
        files: [SAMPLE],
        lines: 2_030,
        requests: 2_026,
        clients: 115,
        malformed: 4,
        examples: expect.any(Array),
        reordered: number,
        late: number,
        from: Date.UTC(2026, 2, 3, 5, 0, 7),
        to: Date.UTC(2026, 2, 3, 16, 57, 34),
      },
      target: { of: "clients", percent: 1, maxDenied: 1 },
      proposal: {
        limit: { algorithm: "gcra", limit: number, window: "1m" },
        window: "1m",
        units: number,
        reason: "It is the only window considered.",
        replays: Array.from({ length: 4 }, (_, i) => ({
          ...replayed,
          waitsMs: i === 3 ? null : { p50: number, p90: number, p99: number, max: number },
        })),
        holdout: {
          ...replayed,
          proposal: { ...score, meetsTarget: expect.any(Boolean) },
          from: number,
          to: number,
        },
        maxPerDay: number,
        busiestClientPerDay: 297,
      },
      windows: [
        {
          window: "1m",
          units: number,
          isLogLongEnough: true,
          excessAtOnce: 1,
          excessOverTime: 1,
          ...score,
        },
      ],
      caveats: ["4 lines skipped: not requests."],
    });
  });

  test("prints the limit as code and as a replay command, ready to paste", async () => {
    const { exitCode, stdout } = await recommend([SAMPLE, ...TARGET, "--window", "10m"]);
    expect(exitCode).toBe(0);
    const { proposal, log } = await recommendation([SAMPLE, ...TARGET, "--window", "10m"]);
    const { units } = proposal;
    expect(stdout).toContain(`\n  gcra({ limit: ${units}, window: "10m" })\n`);
    expect(stdout).toContain(
      `\n  headgate replay --limits '{"algorithm":"gcra","limit":${units},"window":"10m"}' ${SAMPLE}\n`,
    );
    const lines = stdout.split("\n").map((line) => line.trim().replace(/ {2,}/g, " | "));
    expect(lines).toContain(
      `${units} | recommended | all | 0 of 115 (0%) | 0 of ${log.requests.toLocaleString("en-US")} (0%) | met`,
    );
    expect(lines.join("\n")).toContain(
      `\n${units - 1} | one request fewer | all | 1 of 115 (0.87%) |`,
    );
    expect(lines.join("\n")).toMatch(
      /found on the earlier half \| the later half \| .* \| missed\n/,
    );
    expect(stdout).toContain("A log shows the past");
  });

  test("names the windows that the log is too short for, and proposes none of them", async () => {
    const { windows, proposal, caveats } = await recommendation([SAMPLE]);
    expect(windows.map(({ window }) => window)).toEqual(["1s", "10s", "1m", "10m", "1h", "1d"]);
    expect(
      windows.filter(({ isLogLongEnough }) => !isLogLongEnough).map(({ window }) => window),
    ).toEqual(["1d"]);
    expect(proposal.window).not.toBe("1d");
    expect(caveats.join()).toContain("Not considered: 1d.");
    const daily = await recommendation([SAMPLE, "--window", "1d"]);
    expect(daily.proposal.window).toBe("1d");
    expect(daily.caveats.join()).toContain(
      "The log is less than twice as long as the window of 1d",
    );
  });

  test("names the denied clients by their user agents and the paths denied most, in each format", async () => {
    const args = [SAMPLE, "--deny-at-most", "1%", "--window", "10m"];
    const file = join(dir, "clients.html");
    const { stdout } = await recommend([...args, "--html", file]);
    const { replay } = await recommendation(args);
    const [first] = replay.policies[0]?.clients ?? [];
    const [path] = first?.paths ?? [];
    expect(first).toMatchObject({ client: "203.0.113.250", agent: expect.any(String) });
    expect(path?.path).toMatch(/^\/[^?]*$/);
    expect(stdout).toContain("Most often denied by the recommended limit");
    const page = readFileSync(file, "utf8").replace(/<[^>]*>/g, "");
    for (const text of [stdout, page]) expect(text).toContain(path?.path);
    expect(page).toContain(`${path?.path}: denied ${path?.denied} time`);
  });

  test("writes a report with the limit in words, the target, the reason, the later half and alternatives", async () => {
    const file = join(dir, "report.html");
    const { exitCode } = await recommend([SAMPLE, "--html", file]);
    expect(exitCode).toBe(0);
    const page = readFileSync(file, "utf8");
    const { proposal, target, log } = await recommendation([SAMPLE]);
    const { units, window, holdout, reason } = proposal;
    const words = page.replace(/<style>[\s\S]*<\/style>|<[^>]*>/g, "").replace(/\s+/g, " ");
    const heading = /<h1>(.*?)<\/h1>/.exec(page)?.[1]?.replace(/<[^>]*>/g, "");
    expect(heading).toMatch(
      new RegExp(
        `^Recommended limit: ${units} requests at once, then .*one every .* per client address$`,
      ),
    );
    expect(/<title>(.*?)<\/title>/.exec(page)?.[1]).toBe(heading);
    for (const sentence of [
      `That meets the target, which is to deny at most ${target.percent} % of clients: ${target.maxDenied} of ${log.clients}.`,
      reason,
      `It is the tightest limit per ${window} that meets the target`,
      `the search was repeated on the earlier half of the log alone. It found ${holdout?.units} per ${window}.`,
      `that limit would have denied ${holdout?.clientsDenied} of ${holdout?.clients} clients, so it ${holdout?.meetsTarget ? "meets" : "misses"} the target on new traffic`,
      ...[units - 1, Math.floor(units / 2), units * 2].map((one) => `${one} per ${window}`),
    ]) {
      expect(words).toContain(sentence);
    }
    expect(words).not.toMatch(/\breplay of\b/);
  });
});

describe("headgate recommend on a generated log", () => {
  // 99 clients make 5 requests a minute, one makes 50.
  const log = [
    ...Array.from({ length: 99 }, (_, i) => linesOf(`192.0.2.${i}`, 5, 12)),
    linesOf("203.0.113.9", 50, 1),
  ].flat();

  test.each([
    ["--deny-at-most 1% --of clients", 5],
    ["--deny-at-most 0.99% --of clients", 50],
    ["--deny-at-most 0% --of requests", 50],
  ])("proposes, under %s, %d requests a minute", async (options, units) => {
    const args = ["-", ...options.split(" "), "--window", "1m", "--algorithm", "slidingLog"];
    const { proposal } = await recommendation(args, log.join(""));
    expect(proposal.limit).toEqual({ algorithm: "slidingLog", limit: units, window: "1m" });
  });

  test("proposes the options of the given algorithm", async () => {
    const limitOf = async (algorithm: string) =>
      (
        await recommendation(
          ["-", ...TARGET, "--window", "1m", "--algorithm", algorithm],
          log.join(""),
        )
      ).proposal.limit;
    expect(await limitOf("tokenBucket")).toEqual({
      algorithm: "tokenBucket",
      capacity: expect.any(Number),
      refill: expect.any(Number),
      every: "1m",
    });
    expect(await limitOf("fixedWindow")).toMatchObject({ algorithm: "fixedWindow", limit: 50 });
  });

  test("reads JSON lines from several files", async () => {
    const files = ["one", "other"].map((name, i) => {
      const file = join(dir, `${name}.jsonl`);
      const lines = Array.from({ length: 8 }, (_, second) =>
        JSON.stringify({ ts: 1_772_500_000 + second * 2 + i, who: "192.0.2.1" }),
      );
      writeFileSync(file, lines.join("\n"));
      return file;
    });
    const args = [...files, "--fields", "time=ts,client=who", "--window", "10s"];
    const { log, proposal } = await recommendation([...args, "--algorithm", "slidingLog"]);
    expect(log).toMatchObject({ requests: 16, clients: 1, files });
    expect(proposal.units).toBe(10);
  });

  test("takes 1% as the target of a log in which 0.1% is nobody, unless 1% is nobody, too", async () => {
    const target = async (clients: number) => {
      const lines = Array.from({ length: clients }, (_, i) => linesOf(`192.0.2.${i}`, i, 1));
      const found = await recommendation(["-", "--window", "1m"], lines.flat().join(""));
      return [found.target, found.caveats.join()];
    };
    expect(await target(101)).toEqual([
      { of: "clients", percent: 1, maxDenied: 1 },
      expect.stringContaining("The target is 1% of clients, because 0.1% of so few"),
    ]);
    expect((await target(51))[0]).toEqual({ of: "clients", percent: 0.1, maxDenied: 0 });
  });

  test("finds a limit that allows the only client of a log", async () => {
    const { proposal, caveats } = await recommendation(
      ["-", "--window", "10s"],
      linesOf("192.0.2.1", 30, 1).join(""),
    );
    expect(proposal.replays[0]).toMatchObject({ clients: 1, denied: 0, meetsTarget: true });
    expect(proposal.replays[1]).toMatchObject({ clientsDenied: 1, meetsTarget: false });
    expect(caveats.join()).toContain("0.1% of so few clients is less than one");
  });

  test("proposes one unit for a log of one request, and scores no later half", async () => {
    const { exitCode, stdout } = await recommend(["-"], linesOf("192.0.2.1", 1, 1).join(""));
    expect(exitCode).toBe(0);
    expect(stdout).toContain("No limit is lower than one request.");
    expect(stdout).toContain("could not be tested on new traffic");
  });
});

describe("headgate recommend reports an error in one line", () => {
  test.each([
    [[SAMPLE, "--deny-at-most", "0.1"], "--deny-at-most must be a share from 0% to 100%"],
    [[SAMPLE, "--of", "users"], '--of must be clients or requests, got "users"'],
    [
      [SAMPLE, "--window", "1x"],
      "--window must be a duration from 1 ms to 366 days: a whole number of milliseconds, or",
    ],
    [[SAMPLE, "--algorithm", "concurrency"], "--algorithm must be one of gcra, tokenBucket,"],
    [["nowhere.log"], "cannot read the log nowhere.log"],
    [["-"], "no requests in standard input: it is empty"],
    [[SAMPLE, "--html", "/nowhere/report.html"], "cannot write the report /nowhere/report.html"],
    [[], "missing required argument 'logs'"],
  ])("for the arguments %j", async (args, message) => {
    const { exitCode, stdout, stderr } = await recommend(args);
    expect(exitCode).toBe(2);
    expect(stdout).toBe("");
    expect(stderr).toMatch(/^headgate: [^\n]+\n$/);
    expect(stderr).toContain(message);
  });

  test("for a file without a request", async () => {
    const file = join(dir, "noise.log");
    writeFileSync(file, "noise\nmore noise\n");
    const { stderr } = await recommend([file]);
    expect(stderr).toContain("2 malformed lines; line 1 skipped, neither the common");
  });
});
