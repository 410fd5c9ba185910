import type { UnreadRecord } from "@headgate/core/operate";
import { visible } from "../output/visible.ts";

const WHY: Readonly<Record<UnreadRecord["why"], string>> = {
  "other-format": "another version of Headgate wrote it: use that one's command",
  damaged: "this version cannot read it: update the command, or delete the key",
  missing: "it is gone, as after an eviction: it is written again within an hour",
  "too-long": "has more than any version writes: delete the key",
  "wrong-type": "another application wrote to its key: delete the key",
};

/** Says which records of the directory could not be read: then the rest is not whole. */
export function warnUnread(stderr: NodeJS.WritableStream, unread: readonly UnreadRecord[]): void {
  for (const { key, why } of unread) {
    stderr.write(`headgate: warning: cannot read ${visible(key)}: ${WHY[why]}\n`);
  }
}
