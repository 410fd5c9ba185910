import { readdirSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { expect } from "vitest";
import { ROOT } from "../docs/markdown.ts";

/** What is used of Ajv, which Fastify brings. */
interface Ajv {
  compile(schema: object): { (value: unknown): boolean; errors?: readonly object[] | null };
}

const DIR = join(ROOT, "packages/cli/schema");

const fromFastify = createRequire(createRequire(import.meta.url).resolve("fastify"));
const fromCompiler = createRequire(fromFastify.resolve("@fastify/ajv-compiler"));
const { Ajv2020 } = fromCompiler("ajv/dist/2020") as { Ajv2020: new (options: object) => Ajv };

/** The commands whose `--json` has a schema. */
export const SCHEMAS: readonly string[] = readdirSync(DIR).map((file) => file.replace(".json", ""));

export function readSchema(command: string): Readonly<Record<string, unknown>> {
  return JSON.parse(readFileSync(join(DIR, `${command}.json`), "utf8"));
}

/** Expects that what a command printed is one JSON document of its schema, and returns it. */
export function expectDocument(command: string, stdout: string): unknown {
  const value: unknown = JSON.parse(stdout);
  const isValid = new Ajv2020({ allErrors: true, strict: true }).compile(readSchema(command));
  const errors = isValid(value) ? [] : isValid.errors;
  expect(errors).toEqual([]);
  return value;
}
