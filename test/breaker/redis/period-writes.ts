import { once } from "node:events";
import { connect } from "node:net";
import { createInterface } from "node:readline";
import { Redis } from "ioredis";
import type { StoredPeriod } from "./stored-period.ts";
import { readStoredPeriod } from "./stored-period.ts";

/** One write of a target's record, whoever made it. */
export interface PeriodWrite {
  /** The server's clock, in microseconds. */
  readonly at: number;
  readonly period: StoredPeriod;
}

export interface PeriodWrites {
  /** All of them, in the order in which the server made them. */
  readonly writes: readonly PeriodWrite[];
  /** Resolves when everything that the server has done by now is here. */
  caughtUp(): Promise<void>;
  stop(): void;
}

/**
 * Watches, with MONITOR, what is written to the record of a target: between two writes nothing changes but the time. ioredis
 * would do it, and takes a quote and a space at the end of a value for the end of it.
 */
export async function watchPeriodWrites(socket: string, key: string): Promise<PeriodWrites> {
  const client = new Redis(socket);
  const monitor = connect(socket);
  const lines = createInterface(monitor);
  const writes: PeriodWrite[] = [];
  const marks = new Map<string, () => void>();
  let marked = 0;
  monitor.write("MONITOR\r\n");
  await once(lines, "line");
  lines.on("line", (line) => {
    const [command, first, value] = argumentsOf(line);
    if (command?.equals(ECHO)) marks.get(String(first))?.();
    if (!command?.equals(SET) || value === undefined || String(first) !== key) return;
    const at = Math.round(Number(/^\+([\d.]+)/.exec(line)?.[1]) * 1_000_000);
    writes.push({ at, period: readStoredPeriod(value) });
  });
  return {
    writes,
    async caughtUp() {
      marked += 1;
      const mark = `${key} ${marked}`;
      const seen = new Promise<void>((resolve) => marks.set(mark, resolve));
      await client.echo(mark);
      await seen;
      marks.delete(mark);
    },
    stop() {
      lines.close();
      monitor.destroy();
      client.disconnect();
    },
  };
}

const ECHO = Buffer.from("echo");
const SET = Buffer.from("SET");
const NAMED: Record<string, number> = { n: 10, r: 13, t: 9, a: 7, b: 8 };

/** The arguments of a command as MONITOR prints them, quoted and escaped. */
function argumentsOf(line: string): Buffer[] {
  return [...line.matchAll(/"((?:[^"\\]|\\.)*)"/g)].map(([, text = ""]) =>
    Buffer.from(
      text.replace(/\\(x..|.)/g, (_, escaped: string) =>
        String.fromCharCode(
          escaped.length > 1
            ? Number.parseInt(escaped.slice(1), 16)
            : (NAMED[escaped] ?? escaped.charCodeAt(0)),
        ),
      ),
      "latin1",
    ),
  );
}
