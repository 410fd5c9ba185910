import { once } from "node:events";
import type { Server, Socket } from "node:net";
import { connect, createServer } from "node:net";
import { freePort } from "./free-port.ts";

/** Where the server is: a port on 127.0.0.1, or a unix socket. */
export type ProxyTarget = { readonly port: number } | { readonly socket: string };

type Direction = "requests" | "replies";

export interface TcpProxy {
  /** Where clients connect, on 127.0.0.1. The same one for its whole life. */
  readonly port: number;
  /** All but `open` only grow. */
  readonly counts: Readonly<Counts>;
  /** Delivers what the server sends this many milliseconds late, in order, from now on. */
  delayReplies(milliseconds: number): void;
  /** Ends the first connection that gets a reply from now on, after so many bytes; 0 loses a reply whole, of a command that was executed. */
  cutReply(afterBytes: number): void;
  /** A network gone for a while: bytes wait here until `pass`, as TCP would send them again. Default: both directions. */
  hold(...directions: readonly Direction[]): void;
  /** A lost network: connections stay open and lose bytes; connections with losses end at `pass`. Default: both directions. */
  swallow(...directions: readonly Direction[]): void;
  /** Lets bytes pass again, those held first. */
  pass(): void;
  /** Refuses new connections (ECONNREFUSED); open ones live on. */
  refuse(): void;
  /** Takes connections again after `refuse`. */
  accept(): Promise<void>;
  /** Ends all connections at once. */
  drop(): void;
  /** Ends everything. Calling it twice does no harm. */
  close(): Promise<void>;
}

interface Counts {
  /** Connections taken, and those of them that are open. */
  accepted: number;
  open: number;
  /** Connections ended by `cutReply`, by `drop`, and by `pass` after `swallow`. */
  cut: number;
  requestBytes: number;
  replyBytes: number;
  swallowedBytes: number;
}

/** One direction of one connection. `undefined` among its bytes is the end of them. */
interface Lane {
  readonly direction: Direction;
  readonly to: Socket;
  readonly waiting: { readonly bytes: Buffer | undefined; readonly due: number }[];
  timer?: NodeJS.Timeout;
}

interface Connection {
  readonly sockets: readonly [client: Socket, upstream: Socket];
  readonly lanes: readonly [requests: Lane, replies: Lane];
  hasLostBytes: boolean;
}

/**
 * A proxy between clients and a server that simulates network faults at the command of a test.
 * If the server refuses a connection, the proxy accepts and ends that of the client.
 */
export async function startTcpProxy(target: ProxyTarget): Promise<TcpProxy> {
  const port = await freePort();
  const connections = new Set<Connection>();
  const counts: Counts = {
    accepted: 0,
    open: 0,
    cut: 0,
    requestBytes: 0,
    replyBytes: 0,
    swallowedBytes: 0,
  };
  const held = new Set<Direction>();
  const swallowed = new Set<Direction>();
  let delayMs = 0;
  let pendingCut: { bytesLeft: number; connection?: Connection } | undefined;
  let server: Server | undefined;

  function open(client: Socket): void {
    const upstream =
      "socket" in target ? connect(target.socket) : connect(target.port, "127.0.0.1");
    const connection: Connection = {
      sockets: [client, upstream],
      lanes: [
        { direction: "requests", to: upstream, waiting: [] },
        { direction: "replies", to: client, waiting: [] },
      ],
      hasLostBytes: false,
    };
    const [requests, replies] = connection.lanes;
    connections.add(connection);
    counts.accepted += 1;
    counts.open = connections.size;
    for (const [from, lane] of [
      [client, requests],
      [upstream, replies],
    ] as const) {
      from.setNoDelay(true);
      from.on("error", () => {});
      from.on("data", (bytes) => arrive(connection, lane, bytes));
      from.on("close", () => arrive(connection, lane, undefined));
    }
  }

  function arrive(connection: Connection, lane: Lane, bytes: Buffer | undefined): void {
    if (swallowed.has(lane.direction)) {
      connection.hasLostBytes = true;
      counts.swallowedBytes += bytes?.length ?? 0;
      return;
    }
    const due = performance.now() + (lane.direction === "replies" ? delayMs : 0);
    lane.waiting.push({ bytes, due: Math.max(due, lane.waiting.at(-1)?.due ?? 0) });
    deliver(connection, lane);
  }

  function deliver(connection: Connection, lane: Lane): void {
    clearTimeout(lane.timer);
    while (!held.has(lane.direction)) {
      const [next] = lane.waiting;
      if (next === undefined) return;
      const early = next.due - performance.now();
      if (early > 0) {
        lane.timer = setTimeout(() => deliver(connection, lane), Math.ceil(early));
        return;
      }
      lane.waiting.shift();
      if (next.bytes === undefined) end(connection);
      else pass(connection, lane, next.bytes);
    }
  }

  function pass(connection: Connection, lane: Lane, bytes: Buffer): void {
    if (lane.direction === "requests") counts.requestBytes += bytes.length;
    else if (isCutBy(connection, bytes)) return;
    else counts.replyBytes += bytes.length;
    if (lane.to.writable) lane.to.write(bytes);
  }

  /** Sends the last bytes of a connection to be cut, and says whether these were they. */
  function isCutBy(connection: Connection, bytes: Buffer): boolean {
    if (pendingCut === undefined) return false;
    pendingCut.connection ??= connection;
    if (pendingCut.connection !== connection) return false;
    if (bytes.length < pendingCut.bytesLeft) {
      pendingCut.bytesLeft -= bytes.length;
      return false;
    }
    const last = bytes.subarray(0, pendingCut.bytesLeft);
    pendingCut = undefined;
    counts.replyBytes += last.length;
    counts.cut += 1;
    connection.sockets[0].write(last);
    end(connection);
    return true;
  }

  function end(connection: Connection): void {
    if (!connections.delete(connection)) return;
    counts.open = connections.size;
    if (pendingCut?.connection === connection) pendingCut = undefined;
    for (const lane of connection.lanes) {
      clearTimeout(lane.timer);
      lane.waiting.length = 0;
    }
    // Bytes written before the end arrive before it.
    for (const socket of connection.sockets) socket.destroySoon();
  }

  function cut(connection: Connection): void {
    counts.cut += 1;
    end(connection);
  }

  async function listen(): Promise<void> {
    if (server !== undefined) return;
    server = createServer(open).listen(port, "127.0.0.1");
    await once(server, "listening");
  }

  function refuse(): void {
    server?.close();
    server = undefined;
  }

  function drop(): void {
    for (const connection of connections) cut(connection);
  }

  await listen();
  return {
    port,
    counts,
    delayReplies(milliseconds) {
      delayMs = milliseconds;
    },
    cutReply(afterBytes) {
      pendingCut = { bytesLeft: afterBytes };
    },
    hold(...directions) {
      for (const direction of orBoth(directions)) held.add(direction);
    },
    swallow(...directions) {
      for (const direction of orBoth(directions)) swallowed.add(direction);
    },
    pass() {
      held.clear();
      swallowed.clear();
      for (const connection of connections) {
        if (connection.hasLostBytes) cut(connection);
        else for (const lane of connection.lanes) deliver(connection, lane);
      }
    },
    refuse,
    accept: listen,
    drop,
    async close() {
      refuse();
      drop();
    },
  };
}

function orBoth(directions: readonly Direction[]): readonly Direction[] {
  return directions.length === 0 ? ["requests", "replies"] : directions;
}
