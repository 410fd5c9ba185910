/** Counts promises that are rejected with nobody listening, in place of those who would end the run for them. */
export function watchRejections() {
  const unhandled: Record<string, number> = {};
  const note = (reason: unknown) => {
    unhandled[String(reason)] = (unhandled[String(reason)] ?? 0) + 1;
  };
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", note);
  return {
    unhandled,
    stop() {
      process.off("unhandledRejection", note);
      for (const other of others) process.on("unhandledRejection", other);
    },
  };
}
