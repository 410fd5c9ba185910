import { onTestFinished, vi } from "vitest";

/** The process warnings until the test ends, at once and in place of those who would print them: code, then words. */
export function hearWarnings(): string[] {
  const heard: string[] = [];
  const spy = vi.spyOn(process, "emitWarning").mockImplementation((warning, options) => {
    const { code } = options as { readonly code?: string };
    heard.push(`${code}: ${String(warning)}`);
  });
  onTestFinished(() => spy.mockRestore());
  return heard;
}
