import type { CommandContext } from "../command/cli.ts";
import { styleFor } from "./style.ts";
import { visible } from "./visible.ts";

/** A headline, and lines under it. */
export function printSection(
  { stdout, environment }: Pick<CommandContext, "stdout" | "environment">,
  headline: string,
  lines: readonly string[],
): void {
  const style = styleFor(stdout, environment);
  const written = [style("bold", visible(headline)), ...lines.map((line) => `  ${visible(line)}`)];
  stdout.write(`${written.join("\n")}\n`);
}
