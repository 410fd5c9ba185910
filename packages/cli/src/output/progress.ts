import type { WriteStream } from "node:tty";
import { SingleBar } from "cli-progress";
import { isTerminal } from "./style.ts";

/** A progress bar. */
export interface Progress {
  start(total: number): void;
  /** Called with what is done so far. */
  update(done: number): void;
  stop(): void;
}

/** A progress bar on a terminal, and nothing elsewhere. It is gone after `stop`. */
export function createProgress(stream: NodeJS.WritableStream, format: string): Progress {
  if (!isTerminal(stream)) return { start() {}, update() {}, stop() {} };
  const bar = new SingleBar({
    stream: stream as WriteStream,
    format,
    barCompleteChar: "█",
    barIncompleteChar: "░",
    clearOnComplete: true,
    hideCursor: false,
    gracefulExit: false,
  });
  return {
    start: (total) => bar.start(total, 0),
    update: (done) => bar.update(done),
    stop: () => bar.stop(),
  };
}
