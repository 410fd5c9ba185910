import type { ChildProcess } from "node:child_process";
import { fork } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, expect, test } from "vitest";
import { ENDS_WITH_PARENT } from "../support/ends-with-parent.ts";
import { useOwnRedis } from "../support/own-redis.ts";
import { blocksOf, page, ROOT } from "./markdown.ts";
import { withTestServers } from "./snippets.ts";

/** A module that makes a server report its port. */
const REPORT = `import { Server } from "node:net";
const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  this.once("listening", () => process.send(this.address().port));
  return listen.apply(this, args);
};`;

/** A curl command of a page and the answer that the page shows. */
const CURL_SESSION = /^```sh\n(curl [\s\S]*?)\n```\n\n```(text|http)\n([\s\S]*?)^```/gm;

const folder = mkdtempSync(join(tmpdir(), "headgate-start-"));
symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
const file = join(folder, "server.mjs");
const redis = useOwnRedis();

/** The servers that a reader has started, by the ports on the page. */
const servers = new Map<number, { readonly child: ChildProcess; readonly port: number }>();

afterEach(() => {
  for (const { child } of servers.values()) child.kill();
  servers.clear();
});

afterAll(() => rmSync(folder, { recursive: true }));

async function serverOn(shown: number): Promise<number> {
  const known = servers.get(shown);
  if (known !== undefined) return known.port;
  const child = fork(file, {
    execArgv: [
      ...ENDS_WITH_PARENT,
      "--import",
      `data:text/javascript,${encodeURIComponent(REPORT)}`,
    ],
    env: { ...process.env, REDIS_URL: redis.server.socket },
  });
  const ended = once(child, "exit").then(() =>
    Promise.reject(new Error(`the server on ${shown} ended at once`)),
  );
  const [port] = (await Promise.race([once(child, "message"), ended])) as [number];
  servers.set(shown, { child, port });
  return port;
}

/** Returns curl's output for a line of a page. */
async function curl(line: string): Promise<string> {
  const [, shown = "", query = ""] = /http:\/\/localhost:(\d+)\/([^"\s]*)/.exec(line) ?? [];
  const headers = [...line.matchAll(/-H "([^:]+): ([^"]+)"/g)].map(
    ([, name = "", value = ""]) => [name, value] as [string, string],
  );
  const [, last = "1"] = /\[1-(\d+)\]/.exec(query) ?? [];
  const port = await serverOn(Number(shown));
  let printed = "";
  for (let i = 0; i < Number(last); i += 1) {
    const answer = await fetch(`http://127.0.0.1:${port}/`, { headers });
    if (line.includes(" -i ")) printed += `${answer.status} `;
    printed += await answer.text();
  }
  return printed;
}

/** Returns the comparable part of a shown answer: the whole text, or the status and the body of an answer with headers. */
function shownOf(language: string, text: string): string {
  if (language === "text") return text.trimEnd();
  const [head = "", body = ""] = text.split("\n\n");
  return `${head.split(" ")[1]} ${body.trimEnd()}`;
}

test.each([
  { name: "how-to/keys.md", framework: "Express", at: 0 },
  ...["start/index.md", "start/with-redis.md"].flatMap((name) => [
    { name, framework: "Express", at: 0 },
    { name, framework: "Fastify", at: 1 },
  ]),
])("docs/$name shows what $framework answers", async ({ name, at }) => {
  const it = page(`docs/${name}`);
  const server = withTestServers(blocksOf([it], "js")[at]?.text ?? "", redis.server.socket);
  // On a busy machine Redis's first reply may take longer than the default, and the process would decide locally.
  writeFileSync(file, server.replace("limits:", 'storeTimeout: "10s", limits:'));
  const sessions = [...it.text.matchAll(CURL_SESSION)];
  expect(sessions.length).toBeGreaterThan(0);
  for (const [, lines = "", language = "", shown = ""] of sessions) {
    const printed: string[] = [];
    for (const line of lines.split("\n")) printed.push(await curl(line));
    expect(printed.join("\n")).toBe(shownOf(language, shown));
  }
});
