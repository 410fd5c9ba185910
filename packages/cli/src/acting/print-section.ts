import type { Surroundings } from "../command/surroundings.ts";
import { styleFor } from "../output/style.ts";
import { visible } from "../output/visible.ts";

/** A headline, and lines under it. */
export function printSection(
  { stdout, environment }: Pick<Surroundings, "stdout" | "environment">,
  headline: string,
  lines: readonly string[],
): void {
  const style = styleFor(stdout, environment);
  const written = [style("bold", visible(headline)), ...lines.map((line) => `  ${visible(line)}`)];
  stdout.write(`${written.join("\n")}\n`);
}
