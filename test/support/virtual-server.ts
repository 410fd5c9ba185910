import { EventEmitter } from "node:events";
import type { LoadShedderOptions, NodeResponse } from "@headgate/shed";
import { createLoadShedder } from "../../packages/shed/src/load-shedder.ts";
import type { EventSource } from "./virtual-loop.ts";
import { VirtualLoop } from "./virtual-loop.ts";

/** What a connection, reading a request and responding cost on a real server, in milliseconds. */
const COSTS = { accept: 0.03, read: 0.04, respond: 0.04 };

/** A request of a client, and what became of it. */
export interface Sent {
  /** Its place among all requests. */
  readonly id: number;
  /** When the client sent it, or would have with a free connection. */
  readonly at: number;
  readonly handlerMs: number;
  readonly priority: "critical" | "default" | "sheddable";
  readonly subject: string;
  /** Its place in the order in which the server read requests, and in which handlers began. */
  readAs?: number;
  readAt?: number;
  startedAs?: number;
  status?: number;
  /** When it had its response. */
  answeredAt?: number;
  /** Whether the loop had been busy for at least 20 ms when it was shed. */
  shedOnBusyLoop?: boolean;
}

/** What the functions in the options get. */
export interface VirtualRequest {
  readonly sent: Sent;
  readonly headers: Record<string, string>;
  readonly socket: { readonly server: EventEmitter; destroyed: boolean };
}

export interface Traffic {
  readonly seed: number;
  /** A connection for each request, or a pool of 200 that are kept alive. */
  readonly connections: "each" | "pool";
  /** What clients ask for, as a share of what the server could do if nothing waited; or a function of time. */
  readonly load: number | ((ms: number) => number);
  /** The mean handler time. */
  readonly meanMs: number;
  /** Handler times, from a number between 0 and 1 and the time. */
  readonly handlerMs: (random: number, ms: number) => number;
  readonly durationMs: number;
  /** How many times longer than on a machine of its own all but handlers takes. Default 1. */
  readonly slowness?: number;
  /** Whether handlers run in promise reactions, as those of async functions do after an await. */
  readonly isAsync?: boolean;
  /** How long handlers wait for something else, without using the processor. */
  readonly waitMs?: number;
  readonly priority?: (random: number) => Sent["priority"];
  readonly subject?: (random: number) => string;
  /** After this time without a response, a client disconnects. */
  readonly patienceMs?: number;
  /** How far the proxy's clock is ahead, for the header that it sets. Without it, there is no proxy. */
  readonly proxyAheadMs?: (ms: number) => number;
  /** What else uses the processor: for how long, at what intervals. */
  readonly pauses?: { readonly everyMs: number; readonly ms: number };
  /** A long job in pieces, of which one runs in each turn of the loop, so that it never waits: how long a piece takes. */
  readonly pieceMs?: number;
}

export interface Outcome {
  readonly all: readonly Sent[];
  /** The share of requests that were shed, in percent. */
  readonly shedPercent: number;
  /** Responses within 500 ms, in percent of what the server could do, or was asked for if that is less. */
  readonly goodPercent: number;
  /** The most requests whose handlers ran at a time. */
  readonly mostInFlight: number;
  readonly mostWaiting: number;
}

/** A server of Node on a virtual loop: one connection is accepted in each turn, all that can be read is read. */
class VirtualServer implements EventSource {
  readonly loop = new VirtualLoop();
  readonly #traffic: Traffic;
  readonly #all: readonly Sent[];
  readonly #slowness: number;
  readonly #emitter = new EventEmitter();
  readonly #shedder;
  /** How many of all requests clients have sent. */
  #sent = 0;
  /** Requests that wait for a connection of the pool. */
  readonly #clientQueue: Sent[] = [];
  #clientQueueHead = 0;
  #free: number;
  #readable: Sent[] = [];
  #read = 0;
  #started = 0;
  #inFlight = 0;
  mostInFlight = 0;
  mostWaiting = 0;

  constructor(options: LoadShedderOptions<VirtualRequest>, traffic: Traffic) {
    this.#traffic = traffic;
    this.#slowness = traffic.slowness ?? 1;
    this.#all = createRequests(traffic);
    this.#free = traffic.connections === "pool" ? 200 : 0;
    this.#shedder = createLoadShedder(options, this.loop);
    if (traffic.pauses !== undefined) this.#pause(traffic.pauses);
    if (traffic.pieceMs !== undefined) this.#runPieces(traffic.pieceMs);
  }

  run(): Outcome {
    const { durationMs, load } = this.#traffic;
    this.loop.run(this, durationMs + 3_000);
    const shed = this.#all.filter(({ status }) => status === 503).length;
    const good = this.#all.filter(
      ({ status, answeredAt = 0, at }) => status === 200 && answeredAt - at <= 500,
    );
    const possible = typeof load === "number" ? Math.min(1, load) : 1;
    return {
      all: this.#all,
      shedPercent: (shed / this.#all.length) * 100,
      goodPercent: ((good.length * costOf(this.#traffic)) / (durationMs * possible)) * 100,
      mostInFlight: this.mostInFlight,
      mostWaiting: this.mostWaiting,
    };
  }

  nextAt(): number {
    if (this.#readable.length > 0) return 0;
    return this.#all[this.#sent]?.at ?? Number.POSITIVE_INFINITY;
  }

  poll(): void {
    const readable = this.#readable;
    this.#readable = [];
    if (this.#traffic.connections === "each") this.#acceptOne();
    else this.#sendOnPool();
    for (const sent of readable) {
      this.loop.spin(COSTS.read * this.#slowness);
      this.#enter(sent);
      this.loop.settle();
    }
    this.mostWaiting = Math.max(this.mostWaiting, this.#shedder.status().waiting);
  }

  #acceptOne(): void {
    const sent = this.#all[this.#sent];
    if (sent === undefined || sent.at > this.loop.now()) return;
    this.#sent += 1;
    this.loop.spin(COSTS.accept * this.#slowness);
    this.#emitter.emit("connection");
    this.#readable.push(sent);
  }

  #sendOnPool(): void {
    for (;;) {
      const sent = this.#all[this.#sent];
      if (sent === undefined || sent.at > this.loop.now()) break;
      this.#sent += 1;
      this.#clientQueue.push(sent);
    }
    while (this.#free > 0 && this.#clientQueueHead < this.#clientQueue.length) {
      this.#free -= 1;
      this.#readable.push(this.#clientQueue[this.#clientQueueHead] as Sent);
      this.#clientQueueHead += 1;
    }
  }

  #enter(sent: Sent): void {
    const { loop } = this;
    sent.readAs = this.#read;
    sent.readAt = loop.now();
    this.#read += 1;
    const { proxyAheadMs, patienceMs } = this.#traffic;
    const headers: Record<string, string> = {};
    if (proxyAheadMs !== undefined) {
      const start = loop.timeOrigin + sent.at + proxyAheadMs(sent.at);
      headers["x-request-start"] = `t=${(start / 1_000).toFixed(3)}`;
    }
    const socket = { server: this.#emitter, destroyed: false };
    if (patienceMs !== undefined) {
      loop.setTimeout(
        () => {
          socket.destroyed ||= sent.status === undefined;
        },
        Math.max(0, sent.at + patienceMs - loop.now()),
      );
    }
    const response = this.#respondTo(sent);
    const next = () => this.#handle(sent, response);
    this.#shedder({ sent, headers, socket }, response, next);
  }

  #handle(sent: Sent, response: NodeResponse): void {
    const { isAsync = false, waitMs } = this.#traffic;
    sent.startedAs = this.#started;
    this.#started += 1;
    this.#inFlight += 1;
    this.mostInFlight = Math.max(this.mostInFlight, this.#inFlight);
    const work = (): void => {
      this.loop.spin(sent.handlerMs);
      const end = (): void => {
        this.#inFlight -= 1;
        response.writeHead(200, {});
        response.end("");
      };
      if (waitMs === undefined) end();
      else this.loop.setTimeout(end, waitMs);
    };
    if (isAsync) this.loop.react(work);
    else work();
  }

  #respondTo(sent: Sent): NodeResponse {
    const server = this;
    const events = new EventEmitter();
    return Object.assign(events, {
      headersSent: false,
      writableEnded: false,
      writeHead(status: number) {
        sent.status = status;
        if (status === 503) sent.shedOnBusyLoop = server.loop.now() - server.loop.lastIdleAt >= 20;
      },
      end() {
        server.loop.spin(COSTS.respond * server.#slowness);
        sent.answeredAt = server.loop.now();
        if (server.#traffic.connections === "pool") server.#free += 1;
        events.emit("finish");
      },
    });
  }

  #runPieces(ms: number): void {
    this.loop.setImmediate(() => {
      this.loop.spin(ms);
      this.#runPieces(ms);
    });
  }

  #pause({ everyMs, ms }: { readonly everyMs: number; readonly ms: number }): void {
    this.loop.setTimeout(() => {
      this.loop.spin(ms);
      this.#pause({ everyMs, ms });
    }, everyMs);
  }
}

/** Sends traffic to a server with a load shedder, and returns what became of it. */
export function serveTraffic(
  options: LoadShedderOptions<VirtualRequest>,
  traffic: Traffic,
): Outcome {
  return new VirtualServer(options, traffic).run();
}

/** What a request costs the server on average, in milliseconds, including its share of what else runs. */
function costOf({ meanMs, connections, pauses, slowness = 1 }: Traffic): number {
  const accept = connections === "each" ? COSTS.accept : 0;
  const cost = meanMs + slowness * (accept + COSTS.read + COSTS.respond);
  return pauses === undefined ? cost : cost / (1 - pauses.ms / pauses.everyMs);
}

/** Requests that arrive independently of each other, and of responses. */
function createRequests(traffic: Traffic): Sent[] {
  const { seed, load, durationMs } = traffic;
  const random = createRandom(seed);
  const cost = costOf(traffic);
  const all: Sent[] = [];
  for (let at = 0; ; ) {
    const factor = typeof load === "number" ? load : load(at);
    at += (-Math.log(1 - random()) * cost) / factor;
    if (at >= durationMs) return all;
    all.push({
      id: all.length,
      at,
      handlerMs: traffic.handlerMs(random(), at),
      priority: traffic.priority?.(random()) ?? "default",
      subject: traffic.subject?.(random()) ?? "one",
    });
  }
}

/** Numbers from 0 to 1, the same for the same seed: mulberry32. */
function createRandom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  };
}
