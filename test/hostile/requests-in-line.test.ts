import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Server } from "node:http";
import { createServer } from "node:http";
import { createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { loadShedder } from "@headgate/shed";
import { expect, onTestFinished, test } from "vitest";
import { ENDS_WITH_PARENT } from "../support/ends-with-parent.ts";
import { eventually, IS_LONG } from "./crowd.ts";
import { liveMebibytes } from "./memory-use.ts";

/** As many as a load shedder keeps in line. */
const MOST = IS_LONG ? 100_000 : 10_000;

/** Each takes a file descriptor, of which a process often has 20,000. */
const MOST_CONNECTIONS = IS_LONG ? 18_000 : 2_000;

type Middleware = (req: object, res: object, next: () => void) => void;

/** What becomes of the requests of a crowd. */
interface Crowd {
  readonly middleware: Middleware;
  /** How many requests are here, of which none has a response. */
  held(): number;
  /** Resolves once none is kept any more. Their clients are gone. */
  release(): Promise<void>;
}

/** Of so many requests, one is watched until it is garbage. */
const WATCHED_OF = 100;

/** After so many collections of garbage that found no more: Node lets go of a crowd in many turns of the loop. */
const SETTLED_ROUNDS = 5;

/** Serves a crowd, and returns how many bytes this process frees for each request once their clients are gone. */
async function bytesOfRequest(
  kind: string,
  count: number,
  { middleware, held, release }: Crowd,
): Promise<number> {
  let served = 0;
  const watched: WeakRef<object>[] = [];
  const answer = (req: object, res: object): void => {
    if (served % WATCHED_OF === 0) watched.push(new WeakRef(res));
    served += 1;
    middleware(req, res, () => {});
  };
  const server = kind === "streams" ? createHttp2Server(answer) : createServer(answer);
  server.on("sessionError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const program = join(import.meta.dirname, "request-crowd.mjs");
  const port = String((server.address() as AddressInfo).port);
  const crowd = spawn(process.execPath, [...ENDS_WITH_PARENT, program, kind, port, String(count)], {
    stdio: ["ignore", "inherit", "inherit", "ipc"],
  });
  onTestFinished(() => void crowd.kill());
  await eventually(async () => held() === count, 300_000);
  const full = liveMebibytes();
  crowd.kill();
  await once(crowd, "exit");
  (server as Partial<Server>).closeAllConnections?.();
  server.close();
  await once(server, "close");
  await release();
  let empty = full;
  let rounds = 0;
  await eventually(async () => {
    const now = liveMebibytes();
    const isLess = now < empty - 0.1;
    empty = Math.min(empty, now);
    rounds = isLess || watched.some((response) => response.deref() !== undefined) ? 0 : rounds + 1;
    return rounds === SETTLED_ROUNDS;
  }, 300_000);
  return ((full - empty) * 2 ** 20) / count;
}

/** Keeps the responses, as a handler does that waits for something. */
function keepAll(): Crowd {
  const responses: object[] = [];
  return {
    middleware: (_, res) => responses.push(res),
    held: () => responses.length,
    async release() {
      responses.length = 0;
    },
  };
}

/** Puts all requests but the first in line. */
function keepInLine(): Crowd {
  const shed = loadShedder({ maxInFlight: 1, maxWait: "1m", priority: () => "critical" });
  onTestFinished(() => shed.close());
  const waiting = () => shed.status().waiting;
  return {
    middleware: shed as unknown as Middleware,
    held: () => waiting() + 1,
    release: () => eventually(async () => waiting() === 0, 60_000),
  };
}

test.each([
  { kind: "streams", count: MOST, what: "streams of HTTP/2" },
  { kind: "pipelined", count: MOST, what: "pipelined requests" },
  {
    kind: "connections",
    count: MOST_CONNECTIONS,
    what: "requests, each on a connection of its own",
  },
])(
  "$count $what in line hold less than 1 KB each beside what Node holds, and nothing holds them once their clients are gone",
  async ({ kind, count }) => {
    // What Node keeps for later is no memory of a request: up to 1,000 parsers, for example.
    await bytesOfRequest(kind, 2_000, keepInLine());
    const bare = await bytesOfRequest(kind, count, keepAll());
    const own = (await bytesOfRequest(kind, count, keepInLine())) - bare;
    console.log(`${count} ${kind}: ${bare.toFixed(0)} bytes, in line ${own.toFixed(0)} more`);
    expect(own).toBeGreaterThan(100);
    expect(own).toBeLessThan(1_000);
  },
);
