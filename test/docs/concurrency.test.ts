import type { Express } from "express";
import { expect, onTestFinished, test } from "vitest";
import { blocksOf, page } from "./markdown.ts";
import { load } from "./moving/programs.ts";

test("in the first sample of the page, the third of three exports at once is denied as the page shows", async () => {
  const it = page("docs/how-to/concurrency.md");
  const [program] = blocksOf([it], "ts");
  const [shown] = blocksOf([it], "http");
  const { app } = await load(program?.text as string, ["app"]);
  const server = (app as Express).listen(0);
  onTestFinished(() => void server.close());
  const { port } = server.address() as { port: number };

  const answers = await Promise.all(
    [1, 2, 3].map(() =>
      fetch(`http://localhost:${port}/export`, { headers: { "x-tenant": "acme" } }),
    ),
  );
  const denied = answers.filter(({ status }) => status === 429);
  expect(denied).toHaveLength(1);
  for (const [, name = "", value] of shown?.text.matchAll(/^([\w-]+): (.+)$/gm) ?? []) {
    expect([name, denied[0]?.headers.get(name)]).toEqual([name, value]);
  }
  for (const answer of answers) {
    if (answer.status === 200) expect((await answer.text()).split("\n")).toHaveLength(21);
  }
});
