import { escapeHidden } from "@headgate/replay/internal";
import type { CommandContext } from "../command/cli.ts";
import { styleFor } from "./style.ts";

/** Prints a headline and indented lines. */
export function printSection(
  { stdout, environment }: Pick<CommandContext, "stdout" | "environment">,
  headline: string,
  lines: readonly string[],
): void {
  const style = styleFor(stdout, environment);
  const written = [
    style("bold", escapeHidden(headline)),
    ...lines.map((line) => `  ${escapeHidden(line)}`),
  ];
  stdout.write(`${written.join("\n")}\n`);
}
