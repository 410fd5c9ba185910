import { describe } from "vitest";
import { express4Framework, express5Framework } from "./express-framework.ts";
import { fastifyFramework } from "./fastify-framework.ts";
import type { Framework } from "./framework.ts";
import { honoFramework } from "./hono-framework.ts";
import { nestOnExpress, nestOnFastify } from "./nest-framework.ts";

/** Whether only Nest is under test, in another version than the workspace's. */
const isOtherNest = process.env["HEADGATE_NEST"] !== undefined;

/** One for each adapter. */
const ADAPTERS = isOtherNest
  ? [nestOnExpress]
  : [fastifyFramework, express5Framework, honoFramework, nestOnExpress];

const FRAMEWORKS = isOtherNest
  ? [nestOnExpress, nestOnFastify]
  : [...ADAPTERS, express4Framework, nestOnFastify];

/** Declares the same tests on every framework. */
export function describeFrameworks(declare: (framework: Framework) => void): void {
  for (const framework of FRAMEWORKS) describe(framework.name, () => declare(framework));
}

/**
 * Declares the same tests behind each adapter, on one of its frameworks: for suites about counting, waiting and outages, which only
 * the adapter touches. With `HEADGATE_LONG=1`, behind every framework.
 */
export function describeAdapters(declare: (framework: Framework) => void): void {
  const behind = process.env["HEADGATE_LONG"] === "1" ? FRAMEWORKS : ADAPTERS;
  for (const framework of behind) describe(framework.name, () => declare(framework));
}
