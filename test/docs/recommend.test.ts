import { expect, test } from "vitest";
import { runCli } from "../cli/run-cli.ts";
import { codeIn, page, section, tablesOf } from "./markdown.ts";

const RECOMMEND = section(page("docs/how-to/choosing-a-limit.md"), "Recommend");

async function print(...args: readonly string[]): Promise<string> {
  const { exitCode, stdout } = await runCli(args);
  expect(exitCode).toBe(0);
  return stdout;
}

test("the excerpt of recommend is the start of its real output", async () => {
  const [, command = ""] = /```sh\n\S+ \S+ \S+ headgate (.*)\n```/.exec(RECOMMEND) ?? [];
  const [, shown] = /```text\n([\s\S]*?)```/.exec(RECOMMEND) ?? [];
  expect(shown).toContain("Proof by replays");
  const printed = await print(...command.split(" "));
  expect(printed.slice(0, shown?.length)).toBe(shown);
});

test("the page lists exactly the options of recommend", async () => {
  const help = await print("recommend", "--help");
  const offered = [...help.matchAll(/^ +(--[\w-]+(?: <\w+>)?)/gm)].map((match) => match[1]);
  const [table] = tablesOf(RECOMMEND);
  expect(table?.rows.map(([option = ""]) => codeIn(option)[0])).toEqual(offered);
});
