import { expect, test } from "vitest";
import { expectDocument, readSchema, SCHEMAS } from "./json-schema.ts";
import { runCli } from "./run-cli.ts";

/** The commands that the help lists. */
async function listCommands(): Promise<readonly string[]> {
  const { stdout } = await runCli(["--help"]);
  const [, list = ""] = stdout.split("Commands:\n");
  return [...list.matchAll(/^ {2}([\w-]+)/gm)].map(([, name]) => name as string);
}

test("each command with --json has a schema, and each schema a command", async () => {
  const printing: string[] = [];
  for (const name of await listCommands()) {
    const { stdout } = await runCli([name, "--help"]);
    if (/^ +--json\b/m.test(stdout)) printing.push(name);
  }
  expect(printing.sort()).toEqual([...SCHEMAS].sort());
});

test.each(SCHEMAS)(
  "the JSON schema of headgate %s names the command, and allows additional properties",
  (name) => {
    const schema = readSchema(name);
    expect(schema["description"]).toContain(`headgate ${name} --json`);
    expect(JSON.stringify(schema)).not.toContain('"additionalProperties":false');
  },
);

test("a document that does not match its JSON schema is rejected", () => {
  expect(() => expectDocument("log", '{"entries":[{"at":"now"}],"unreadable":0}')).toThrow();
  expect(() => expectDocument("log", '{"entries":[],"unreadable":0} {}')).toThrow();
});
