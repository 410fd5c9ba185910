import { onTestFinished } from "vitest";
import type { Warning } from "./framework.ts";

/** Collects Headgate's process warnings until the test ends, and keeps them from being printed. */
export function watchWarnings(): Warning[] {
  const { warnings, stop } = collectWarnings();
  onTestFinished(stop);
  return warnings;
}

/** Collects them until `stop` is called, for tests that run at the same time. */
export function collectWarnings(): { readonly warnings: Warning[]; stop(): void } {
  const warnings: Warning[] = [];
  const others = process.listeners("warning");
  const note = (warning: NodeJS.ErrnoException) => {
    const { code = "", message } = warning;
    if (code.startsWith("HEADGATE")) warnings.push({ code, message });
    else for (const other of others) other(warning);
  };
  process.removeAllListeners("warning").on("warning", note);
  return {
    warnings,
    stop() {
      process.off("warning", note);
      for (const other of others) process.on("warning", other);
    },
  };
}
