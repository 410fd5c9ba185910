import { subscribe, unsubscribe } from "node:diagnostics_channel";

/** The number of published and logged messages about the store going down and coming up. */
export interface StateChanges {
  readonly downs: number;
  readonly ups: number;
  readonly downLines: number;
  readonly upLines: number;
  /** The number of other log lines, by code. */
  readonly otherLines: Readonly<Record<string, number>>;
}

export interface StateWatch {
  readonly changes: StateChanges;
  /** Records a line of an application's own log. */
  recordLine(code: string): void;
  stop(): void;
}

/** Counts the messages on channels and in warnings. Replaces the process's own warning listeners, which would print them. */
export function watchState(): StateWatch {
  const changes = {
    downs: 0,
    ups: 0,
    downLines: 0,
    upLines: 0,
    otherLines: {} as Record<string, number>,
  };
  const onDown = () => {
    changes.downs += 1;
  };
  const onUp = () => {
    changes.ups += 1;
  };
  const recordLine = (code: string) => {
    if (code === "HEADGATE_STORE_DOWN") changes.downLines += 1;
    else if (code === "HEADGATE_STORE_UP") changes.upLines += 1;
    else changes.otherLines[code] = (changes.otherLines[code] ?? 0) + 1;
  };
  const others = process.listeners("warning");
  const onWarning = (warning: NodeJS.ErrnoException) => {
    if (warning.code?.startsWith("HEADGATE")) recordLine(warning.code);
    else for (const other of others) other(warning);
  };
  process.removeAllListeners("warning").on("warning", onWarning);
  subscribe("headgate:store:down", onDown);
  subscribe("headgate:store:up", onUp);
  return {
    changes,
    recordLine,
    stop() {
      unsubscribe("headgate:store:down", onDown);
      unsubscribe("headgate:store:up", onUp);
      process.off("warning", onWarning);
      for (const other of others) process.on("warning", other);
    },
  };
}
