import { once } from "node:events";
import type { Server } from "node:net";
import { createServer } from "node:net";

/** Below the ports of outgoing connections, which could take the port of a server that restarts. */
const FIRST = 16_384;
const LAST = 32_767;
const RANGE_LENGTH = 128;

/** Ports of this process alone, as long as it listens on the first of them: other test files look for theirs at the same time. */
let range: { next: number; readonly last: number } | undefined;

/** A free port on 127.0.0.1, which no other caller gets. */
export async function freePort(): Promise<number> {
  for (;;) {
    if (range === undefined || range.next > range.last) range = await claimRange();
    const port = range.next;
    range.next += 1;
    if (await isFree(port)) return port;
  }
}

async function claimRange(): Promise<{ next: number; readonly last: number }> {
  for (;;) {
    const first =
      FIRST + RANGE_LENGTH * Math.floor((Math.random() * (LAST - FIRST)) / RANGE_LENGTH);
    const claim = await listen(first);
    if (claim === undefined) continue;
    claim.unref();
    return { next: first + 1, last: first + RANGE_LENGTH - 1 };
  }
}

async function isFree(port: number): Promise<boolean> {
  const probe = await listen(port);
  if (probe === undefined) return false;
  probe.close();
  await once(probe, "close");
  return true;
}

async function listen(port: number): Promise<Server | undefined> {
  const server = createServer().listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
    return server;
  } catch {
    return undefined;
  }
}
