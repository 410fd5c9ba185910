import { onTestFinished } from "vitest";
import type { Warning } from "./framework.ts";

/** Collects the process's warnings of Headgate's until the test ends, in place of those who would print them. */
export function watchWarnings(): Warning[] {
  const warnings: Warning[] = [];
  const others = process.listeners("warning");
  const note = (warning: NodeJS.ErrnoException) => {
    const { code = "", message } = warning;
    if (code.startsWith("HEADGATE")) warnings.push({ code, message });
    else for (const other of others) other(warning);
  };
  process.removeAllListeners("warning").on("warning", note);
  onTestFinished(() => {
    process.off("warning", note);
    for (const other of others) process.on("warning", other);
  });
  return warnings;
}
