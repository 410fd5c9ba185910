import { expect, test } from "vitest";
import { runCli } from "./run-cli.ts";

const { stdout: help } = await runCli(["--help"]);
const commands = [...(help.split("Commands:\n")[1] ?? "").matchAll(/^ {2}([a-z]+) .*\S$/gm)].map(
  ([, name]) => name as string,
);

test("headgate without a command prints its help on stderr, and exits with 2", async () => {
  const alone = await runCli([]);
  expect([alone.exitCode, alone.stdout]).toEqual([2, ""]);
  expect(help.startsWith(alone.stderr)).toBe(true);
  expect(await runCli(["--"])).toEqual(alone);
});

test("headgate --help lists the commands and the exit codes", () => {
  expect(commands).toEqual(expect.arrayContaining(["limiters", "breakers", "log"]));
  expect(help).toMatch(/Exit codes:\n {2}0 +done\n {2}1 .*\n {2}2 .*\n {2}3 .*/);
});

test.each(commands)("headgate %s --help has examples of the command", async (name) => {
  const { exitCode, stdout, stderr } = await runCli([name, "--help"]);
  expect([exitCode, stderr]).toEqual([0, ""]);
  const [, examples = ""] = stdout.split("\nExamples:\n");
  expect(examples).toContain(`headgate ${name}`);
});

test("headgate --help shows commands as they are typed, and no default for an option without one", async () => {
  expect(help).toMatch(/^ {2}block \[options\] \[subject\] <duration> /m);
  expect((await runCli(["inspect", "--help"])).stdout).not.toContain("default: []");
});

test("headgate --version prints the version", async () => {
  const { VERSION } = await import("../../packages/core/src/version.generated.ts");
  const expected = { exitCode: 0, stdout: `${VERSION}\n`, stderr: "" };
  expect(await runCli(["--version"])).toEqual(expected);
  expect(await runCli(["-V"])).toEqual(expected);
});

test.each([
  ["limiters", "--pasword=hunter2"],
  ["limiters", "--hunter2=hunter2 and 'more'"],
  ["limiters", "-phunter2"],
  ["limiters", "--password-stdi=hunter2"],
  ["redis://ann:hunter2@10.0.0.7:6379"],
  ["block", "ann", "1h", "--redis=redis://host", "--tokn=hunter2", "--limiter=api"],
])("the error of headgate %s %s does not repeat a value that may be a secret", async (...args) => {
  const { exitCode, stdout, stderr } = await runCli(args);
  expect([exitCode, stdout]).toEqual([2, ""]);
  expect(stderr).toMatch(/^headgate: unknown (option|command)/);
  expect(stderr.replace("'--hunter2'", "")).not.toContain("hunter2");
});

test.each([
  [["limitrs"], "unknown command 'limitrs' (Did you mean limiters?); see headgate --help"],
  [
    ["limiters", "--jsn"],
    "unknown option '--jsn' (Did you mean --json?); see headgate limiters --help",
  ],
  [
    ["limiters", "--redis"],
    "option '--redis <url>' argument missing; see headgate limiters --help",
  ],
  [
    ["inspect", "ann", "bob"],
    "too many arguments for 'inspect'. Expected 1 argument but got 2; see headgate inspect --help",
  ],
])(
  "the error of headgate %j is one line with the likely correction or the right help",
  async (args, message) => {
    expect(await runCli(args)).toEqual({
      exitCode: 2,
      stdout: "",
      stderr: `headgate: ${message}\n`,
    });
  },
);
