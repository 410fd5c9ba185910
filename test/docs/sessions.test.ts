import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { RedisProcess } from "../support/redis-process.ts";
import { startRedis } from "../support/redis-process.ts";
import { blocksOf, PAGES, ROOT } from "./markdown.ts";
import { FIXTURES } from "./sessions/fixtures.ts";
import { comparable, normalise, shownOnPage } from "./sessions/normalise.ts";
import { play, readSession } from "./sessions/play.ts";

/** A session of a page and its fixture. Sessions of a page with the same fixture continue where the previous one ended. */
const SESSION = /^<!-- session: (\w+) -->\n+```console\n([\s\S]*?)^```$/gm;

/** `WRITE_SESSIONS=1` writes the output into the pages. */
const isWriting = process.env["WRITE_SESSIONS"] === "1";
if (isWriting) process.env["TZ"] = "UTC";

const pages = PAGES.map((page) => ({ ...page, sessions: [...page.text.matchAll(SESSION)] }));

let server: RedisProcess;
beforeAll(async () => {
  server = await startRedis({ port: true });
});
afterAll(() => server.stop());

/** Empties the server and fills it with a fixture. */
async function fill(fixture: string): Promise<() => Promise<void>> {
  await server.restart();
  const make = FIXTURES[fixture];
  if (make === undefined) throw new Error(`test/docs/sessions/fixtures.ts has no ${fixture}`);
  return make(server.socket);
}

test("every console session of a page names its fixture", () => {
  for (const page of pages) {
    expect([page.path, page.sessions.length]).toEqual([
      page.path,
      blocksOf([page], "console").length,
    ]);
  }
  expect(pages.flatMap(({ sessions }) => sessions).length).toBeGreaterThan(0);
});

describe.each(pages.filter(({ sessions }) => sessions.length > 0))(
  "$path",
  ({ path, sessions }) => {
    test.each([...new Set(sessions.map(([, fixture]) => fixture as string))])(
      "shows what the command prints, on %s",
      async (fixture) => {
        const began = Date.now();
        const end = await fill(fixture);
        for (const [, named, session = ""] of sessions) {
          if (named !== fixture) continue;
          const played = await playAll(session);
          if (isWriting) replaceIn(path, session, shownOnPage(played, began));
          else expect(comparable(played)).toBe(comparable(session));
        }
        await end();
      },
    );
  },
);

async function playAll(session: string): Promise<string> {
  let played = "";
  for (const { typed } of readSession(session)) {
    played += `$ ${typed}\n${await play(typed, `redis://127.0.0.1:${server.port}`)}`;
  }
  return played;
}

function replaceIn(path: string, before: string, after: string): void {
  const file = join(ROOT, path);
  writeFileSync(
    file,
    readFileSync(file, "utf8").replace(`\`\`\`console\n${before}`, () => `\`\`\`console\n${after}`),
  );
}

test("the sessions of a page share one time line", () => {
  const began = Date.UTC(2030, 0, 1);
  const printed = "until 2030-01-01 01:00:02 UTC, in 1 h";
  expect(shownOnPage(printed, began)).toBe("until 2026-11-22 15:05:12 UTC, in 1 h");
  expect(comparable(shownOnPage(printed, began))).toBe(comparable(printed));
});

test("ids, times and ports of a run are normalised, and columns stay aligned", () => {
  const table = `SEEN      PID${" ".repeat(10)}ID\n5 s ago   ${process.pid}   x\n`;
  expect(normalise(table)).toContain(
    `5 s ago   4711${" ".repeat(Math.max(3, String(process.pid).length - 4 + 3))}x`,
  );
  expect(comparable("at 2025-01-01 00:00:00 GMT+1 (in 3 h 5 min)")).toBe(
    comparable("at 2026-11-22 14:05:10 UTC (in 2 h)"),
  );
  expect(comparable("limit 5")).not.toBe(comparable("limit 6"));
});
