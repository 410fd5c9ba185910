import { CommandError } from "../../command/command-error.ts";
import type { Serve } from "./application.ts";

/** The frameworks that a replay supports. */
export const FRAMEWORKS = ["fastify", "express"] as const;

/** A framework that a replay supports. */
export type Framework = (typeof FRAMEWORKS)[number];

/** Reads the name of a framework. Throws a `CommandError` whose message begins with `option`. */
export function parseFramework(text: string, option: string): Framework {
  const framework = FRAMEWORKS.find((name) => name === text);
  if (framework !== undefined) return framework;
  throw new CommandError(
    `${option} must be ${FRAMEWORKS.join(" or ")}, got ${JSON.stringify(text)}`,
  );
}

/** Loads a framework and its adapter, which are not dependencies of the command. Rejects with a `CommandError` if they are not installed. */
export async function loadServe(framework: Framework): Promise<Serve> {
  try {
    return framework === "fastify"
      ? (await import("./serve-fastify.ts")).serveFastify
      : (await import("./serve-express.ts")).serveExpress;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ERR_MODULE_NOT_FOUND") throw error;
    throw new CommandError(
      `a replay behind ${framework} needs two more packages: npm install ${framework} @headgate/${framework}`,
      undefined,
      { cause: error },
    );
  }
}
