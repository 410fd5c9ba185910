import { hostname, userInfo } from "node:os";

type Rule = readonly [found: RegExp, shown: string | ((found: string) => string)];

/** The time at which every session on a page begins. */
const BEGINS = Date.UTC(2026, 10, 22, 14, 5, 10);

const MOMENT = /\d{4}-\d\d-\d\d \d\d:\d\d:\d\d [A-Z][\w+:-]*/g;
const MILLISECONDS = /\b1\d{12}\b/g;

/** Replaces times and durations, so that they do not depend on when a session is played. */
const TIMES: readonly Rule[] = [
  [MOMENT, "2026-11-22 14:05:10 UTC"],
  [/\(in [^)]+\)/g, (found) => `(in ${about(found)})`],
  [/, in \d+ (?:ms|s|min|h|d)(?: \d+ (?:s|min|h))?(?!\w)/g, (found) => `, in ${about(found)}`],
  [/\b\d+ (?:ms|s|min|h|d)(?: \d+ (?:s|min|h))? ago\b/g, "5 s ago"],
  [MILLISECONDS, "1795356310000"],
];

/** Replaces everything else that differs between two runs with the text that a page shows. */
const OTHERS: readonly Rule[] = [
  // Users and addresses.
  [/\/\S*\/headgate-redis-\w+\/redis\.sock/g, "/run/redis.sock"],
  [/\b127\.0\.0\.1:\d+/g, "127.0.0.1:6379"],
  [/(?<=")[\w-]{16}(?=")/g, "f3Zr0cJ1q8LxTn2d"],
  // Versions and measurements.
  [/\b(?:redis|valkey) \d+\.\d+\.\d+/g, "redis 7.0.15"],
  [/-p \d{4,5}\b/g, "-p 6379"],
  [/\b\d+ calls, p50 [\d.]+ ms, p99 [\d.]+ ms/g, "200 calls, p50 0.08 ms, p99 0.42 ms"],
  [
    /(?:the same as|[\d.]+ ms (?:ahead of|behind)) this machine's, give or take [\d.]+ ms/g,
    "the same as this machine's, give or take 0.1 ms",
  ],
  [/\bin the cache for \d+ ms; \d+ in the cache/g, "in the cache for 256 ms; 9 in the cache"],
  [/\b[\d.]+ MB of 100 MB used, \d %/g, "1.5 MB of 100 MB used, 2 %"],
  [/\blua-time-limit 5000 ms/g, "busy-reply-threshold 5000 ms"],
  [/\btake [\d.]+ KB/g, "take 2.4 KB"],
  [/\b\d+ of 10,000 connections/g, "5 of 10,000 connections"],
  [literally(hostname()), "web-1"],
  [literally(String(process.pid)), "4711"],
  [literally(userInfo().username), "ann"],
];

/** Returns a fixed time of the same magnitude, which is still within the window or the block of the fixture. */
function about(found: string): string {
  if (/\b(?:\d+ m?s|1 min)\b/.test(found) && !/\d (?:min|h) \d/.test(found)) return "48 s";
  return /\b(?:\d+ min|1 h)\b/.test(found) && !/\d h \d/.test(found) ? "50 min" : "2 h";
}

function literally(text: string): RegExp {
  return new RegExp(`(?<![\\w.-])${text.replace(/\W/g, "\\$&")}(?![\\w.-])`, "g");
}

/** Returns a session as a page shows it: shifted from `began` to the same start on every page. Needs `TZ=UTC`. */
export function shownOnPage(printed: string, began: number): string {
  // Shifts by whole seconds, so that the printed durations stay correct.
  const later = Math.ceil((BEGINS - began) / 1_000) * 1_000;
  const shift: readonly Rule[] = [
    [MOMENT, (found) => formatMoment(Date.parse(`${found.slice(0, 19)}Z`) + later)],
    [MILLISECONDS, (found) => String(Number(found) + later)],
  ];
  return apply([...shift, ...OTHERS], printed);
}

function formatMoment(moment: number): string {
  return `${new Date(moment).toISOString().slice(0, 19).replace("T", " ")} UTC`;
}

/** Returns the output without anything that depends on the time or the machine, with its columns aligned. */
export function normalise(printed: string): string {
  return apply([...TIMES, ...OTHERS], printed);
}

function apply(rules: readonly Rule[], printed: string): string {
  return rules.reduce(
    (text, [found, shown]) =>
      text.replace(new RegExp(`${found.source}( {3,})?`, found.flags), (part, ...groups) => {
        const gap = groups.find((group) => /^ {3,}$/.test(String(group))) ?? "";
        const instead = typeof shown === "string" ? shown : shown(part.trimEnd());
        return gap === "" ? instead : instead.padEnd(part.length - 3).concat("   ");
      }),
    printed,
  );
}

/** Returns the normalised output without the widths of columns, to compare two texts. */
export function comparable(text: string): string {
  return normalise(text).replace(/ {3,}/g, "   ");
}
