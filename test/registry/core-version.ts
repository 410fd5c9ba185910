import { readFileSync } from "node:fs";
import { join } from "node:path";

const path = join(import.meta.dirname, "../../packages/core/package.json");

/** The version of the package that is tested. */
export const coreVersion: string = JSON.parse(readFileSync(path, "utf8")).version;
