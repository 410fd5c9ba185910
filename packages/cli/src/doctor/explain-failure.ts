import { EXIT, Failure } from "../command/failure.ts";
import type { Surroundings } from "../command/surroundings.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { styleFor } from "../output/style.ts";
import { visible } from "../output/visible.ts";
import type { Step } from "./reach.ts";
import { readSteps } from "./reach.ts";

/** If there is no connection, prints which step on the way fails. Other failures explain themselves. */
export async function explainFailure(
  failure: unknown,
  options: ConnectionOptions & { readonly json?: boolean | undefined },
  surroundings: Surroundings,
): Promise<void> {
  if (!(failure instanceof Failure) || failure.exitCode !== EXIT.store) return;
  const before = await readSteps(options, surroundings).catch((): readonly Step[] => []);
  const redis: Step = { name: "redis", isMade: false, found: failure.message };
  const isReached = before.every(({ isMade }) => isMade);
  const steps = isReached ? [...before, redis] : before;
  const { stdout, environment } = surroundings;
  if (options.json) return writeJson(stdout, { steps });
  const style = styleFor(stdout, environment);
  for (const { name, isMade, found } of steps) {
    const sign = isMade ? style("green", "✓ ok    ") : style("red", "✗ failed");
    stdout.write(`${sign}  ${name.padEnd(10)}  ${visible(found)}\n`);
  }
}
