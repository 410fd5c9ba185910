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

/**
 * Declares the same tests behind each adapter, on one of its frameworks; with `HEADGATE_LONG=1`, on every framework. Express 4 and Nest
 * on Fastify run the code of an adapter that another framework tests already.
 */
export function describeAdapters(declare: (framework: Framework) => void): void {
  describeEach(process.env["HEADGATE_LONG"] === "1" ? FRAMEWORKS : ADAPTERS, declare);
}

/**
 * Declares the same tests on every framework: for what frameworks of one adapter do in different ways, such as errors and rejections,
 * responses that have begun, lost connections, and addresses behind proxies.
 */
export function describeFrameworks(declare: (framework: Framework) => void): void {
  describeEach(FRAMEWORKS, declare);
}

function describeEach(
  frameworks: readonly Framework[],
  declare: (framework: Framework) => void,
): void {
  for (const framework of frameworks) describe(framework.name, () => declare(framework));
}
