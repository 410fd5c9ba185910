import type { WriteStream } from "node:tty";
import { SingleBar } from "cli-progress";

/** Shows progress on a terminal. */
export interface Progress {
  readonly step: (bytes: number) => void;
  stop(): void;
}

const NONE: Progress = { step() {}, stop() {} };

/** `total` is the number of bytes; undefined if unknown. */
export function showProgress(stream: NodeJS.WritableStream, total: number | undefined): Progress {
  if (!(stream as Partial<WriteStream>).isTTY || !total) return NONE;
  const bar = new SingleBar({
    stream,
    format: "{bar} {percentage}% | {eta_formatted} left",
    barCompleteChar: "█",
    barIncompleteChar: "░",
    clearOnComplete: true,
    hideCursor: true,
    fps: 10,
  });
  bar.start(total, 0);
  return { step: (bytes) => bar.increment(bytes), stop: () => bar.stop() };
}
