/** Counts unhandled rejections. Replaces the process's own listeners, which would end the run. */
export function watchRejections() {
  const unhandled: Record<string, number> = {};
  const record = (reason: unknown) => {
    unhandled[String(reason)] = (unhandled[String(reason)] ?? 0) + 1;
  };
  const others = process.listeners("unhandledRejection");
  process.removeAllListeners("unhandledRejection").on("unhandledRejection", record);
  return {
    unhandled,
    stop() {
      process.off("unhandledRejection", record);
      for (const other of others) process.on("unhandledRejection", other);
    },
  };
}
