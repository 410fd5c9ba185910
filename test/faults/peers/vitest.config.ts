import { join } from "node:path";
import { defineConfig } from "vitest/config";

const root = join(import.meta.dirname, "../../..");

/** For `pnpm faults:peers`: minutes of waiting for other limiters, which is no part of the tests. */
// biome-ignore lint/style/noDefaultExport: Vitest looks for it.
export default defineConfig({
  root,
  resolve: { conditions: ["@headgate/source"] },
  ssr: { resolve: { conditions: ["@headgate/source"] } },
  test: {
    include: ["test/faults/peers/compare-peers.ts"],
    execArgv: ["--import", join(root, "test/support/end-with-parent.mjs")],
    // Twelve seconds of a fault, ten of recovery, twenty of patience, and what it takes to start.
    testTimeout: 120_000,
  },
});
