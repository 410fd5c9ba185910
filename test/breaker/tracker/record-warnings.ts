import { onTestFinished, vi } from "vitest";

/** Records process warnings until the test ends, instead of printing them: the code, then the text. */
export function recordWarnings(): string[] {
  const warnings: string[] = [];
  const spy = vi.spyOn(process, "emitWarning").mockImplementation((warning, options) => {
    const { code } = options as { readonly code?: string };
    warnings.push(`${code}: ${String(warning)}`);
  });
  onTestFinished(() => spy.mockRestore());
  return warnings;
}
