import { join } from "node:path";
import { defineConfig } from "vitest/config";

const root = join(import.meta.dirname, "../../..");

/** For `pnpm faults:peers`, which waits minutes for other limiters and is therefore no part of the tests. */
// biome-ignore lint/style/noDefaultExport: Vitest looks for it.
export default defineConfig({
  root,
  resolve: { conditions: ["@headgate/source"] },
  ssr: { resolve: { conditions: ["@headgate/source"] } },
  test: {
    include: ["test/faults/peers/compare-peers.ts"],
    execArgv: ["--import", join(root, "test/support/end-with-parent.mjs")],
    // Twelve seconds of fault, ten of recovery, twenty for the last answers, and the time to start.
    testTimeout: 120_000,
  },
});
