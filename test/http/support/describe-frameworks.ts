import { describe } from "vitest";
import { express4Framework, express5Framework } from "./express-framework.ts";
import { fastifyFramework } from "./fastify-framework.ts";
import type { Framework } from "./framework.ts";
import { honoFramework } from "./hono-framework.ts";
import { nestOnExpress, nestOnFastify } from "./nest-framework.ts";

/** Declares the same tests behind every framework. */
export function describeFrameworks(declare: (framework: Framework) => void): void {
  for (const framework of [
    fastifyFramework,
    express4Framework,
    express5Framework,
    honoFramework,
    nestOnExpress,
    nestOnFastify,
  ]) {
    describe(framework.name, () => declare(framework));
  }
}
