import type { Command } from "commander";

/** Adds examples to the help of a command, each with what it does. */
export function addExamples(command: Command, examples: Readonly<Record<string, string>>): Command {
  const lines = Object.entries(examples).map(([typed, does]) => `  ${typed}\n      ${does}`);
  return command.addHelpText("after", `\nExamples:\n${lines.join("\n")}`);
}
