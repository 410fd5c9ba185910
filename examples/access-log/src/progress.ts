import type { WriteStream } from "node:tty";
import { SingleBar } from "cli-progress";

/** Shows how far a run is, where there is a terminal to show it on. */
export interface Progress {
  step(): void;
  stop(): void;
}

const NONE: Progress = { step() {}, stop() {} };

export function showProgress(stream: NodeJS.WritableStream, total: number): Progress {
  if (!(stream as Partial<WriteStream>).isTTY || total === 0) return NONE;
  const bar = new SingleBar({
    stream,
    format: "{bar} {percentage}% | {value} of {total} requests | {eta_formatted} left",
    barCompleteChar: "█",
    barIncompleteChar: "░",
    clearOnComplete: true,
    hideCursor: true,
    // Drawn between requests, which never leave the event loop idle for long.
    fps: 10,
  });
  bar.start(total, 0);
  return { step: () => bar.increment(), stop: () => bar.stop() };
}
