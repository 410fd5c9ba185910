import { fileURLToPath } from "node:url";

/** Options of Node for a child with a channel to this process: it ends when this one is gone, even killed. */
export const ENDS_WITH_PARENT: readonly string[] = [
  "--import",
  fileURLToPath(new URL("end-with-parent.mjs", import.meta.url)),
];
