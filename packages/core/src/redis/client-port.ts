import type { Writable } from "node:stream";
import { background } from "../common/background.ts";
import { formatKind, HeadgateError } from "../common/errors.ts";
import type { GlideLike } from "./glide.ts";
import { callGlide, glideHashSlotsOf, isGlideCluster } from "./glide.ts";

/**
 * What Headgate needs from a Redis client: running a script, by its digest or its text, as ioredis does it.
 * Strings in the reply are Buffers.
 */
export interface ClientPort {
  evalshaBuffer(sha1: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>;
  evalBuffer(source: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>;
}

/** The shape of ioredis (5, 6; `Redis` and `Cluster`) and of iovalkey. */
export interface IoredisLike {
  /** Not called: `evalshaBuffer` is called instead, which the clients' types leave out. The same goes for `eval`. */
  evalsha(sha1: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>;
  eval(source: string, numberOfKeys: number, ...keysAndArgs: string[]): Promise<unknown>;
  /** Not called. node-redis 3 and REST clients lack it, but have the other two, with other arguments. */
  defineCommand(...args: never[]): unknown;
}

/** The type of a reply that is a string of bytes, "$" in RESP2 and RESP3, as node-redis numbers it. */
const BLOB_STRING = 36;

interface ScriptArguments {
  keys: string[];
  arguments: string[];
}

/** The shape of node-redis (5, 6): client, pool, cluster and sentinel. */
export interface NodeRedisLike {
  evalSha(sha1: string, options: ScriptArguments): Promise<unknown>;
  eval(source: string, options: ScriptArguments): Promise<unknown>;
  /** Missing in legacy clients, which return no promises, and in those of node-redis 4. */
  withTypeMapping(types: TypeMapping): unknown;
  withCommandOptions?(options: CommandOptions): unknown;
  /** Whether the client is connected, so that it writes a command at once. Pools lack it, and clusters of node-redis 5. */
  readonly isReady?: boolean;
}

interface TypeMapping {
  readonly [BLOB_STRING]: typeof Buffer;
}

interface CommandOptions {
  readonly typeMapping: TypeMapping;
  /** Milliseconds; 0 for none. */
  readonly timeout: number;
}

/** A Redis client that Headgate can use, recognised by its methods. */
export type RedisClient = IoredisLike | NodeRedisLike | GlideLike;

/** Sees a client through the port. Throws `HEADGATE_UNKNOWN_REDIS_CLIENT`. */
export function fromClient(client: RedisClient): ClientPort {
  if (isNodeRedis(client)) return fromNodeRedis(client);
  if (isIoredis(client)) return client;
  if (isGlide(client)) return fromGlide(client);
  throw new HeadgateError(
    "HEADGATE_UNKNOWN_REDIS_CLIENT",
    `redisStore takes a client of ioredis, iovalkey, node-redis (client, pool, cluster, sentinel) or Valkey GLIDE, got ${describe(client)}`,
  );
}

/**
 * Lets a client write the commands that `send` issues with one system call: ioredis and iovalkey write each by itself, to a stream
 * that collects them while it is corked. The other clients collect the commands of a tick by themselves.
 */
export function writeTogether(port: ClientPort, send: () => void): void {
  const { stream } = port as { readonly stream?: Partial<Writable> | null };
  if (typeof stream?.cork !== "function" || typeof stream.uncork !== "function") {
    send();
    return;
  }
  stream.cork();
  try {
    send();
  } finally {
    stream.uncork();
  }
}

function fromNodeRedis(client: NodeRedisLike): ClientPort {
  const port = portOf(client);
  return isNodeRedisCluster(client) ? holdUntilConnected(client, port) : port;
}

/**
 * The port to a client of node-redis, whose `timeout` drops commands that wait to be written, by default after 5 s in node-redis 6.
 * A connected client writes them at once, unless its socket is full, and they go without that timeout: its `AbortSignal` takes as
 * long as all the rest of a command, and a decision has a timeout of its own.
 */
function portOf(client: NodeRedisLike): ClientPort {
  const typeMapping = { [BLOB_STRING]: Buffer };
  const queueing = client.withTypeMapping(typeMapping) as NodeRedisLike;
  const connected = (client.withCommandOptions?.({ typeMapping, timeout: 0 }) ??
    queueing) as NodeRedisLike;
  const present = (): NodeRedisLike => (client.isReady === true ? connected : queueing);
  const split = (numberOfKeys: number, keysAndArgs: string[]): ScriptArguments => ({
    keys: keysAndArgs.slice(0, numberOfKeys),
    arguments: keysAndArgs.slice(numberOfKeys),
  });
  return {
    evalshaBuffer: (sha1, count, ...keysAndArgs) =>
      present().evalSha(sha1, split(count, keysAndArgs)),
    evalBuffer: (source, count, ...keysAndArgs) =>
      present().eval(source, split(count, keysAndArgs)),
  };
}

/** How often a call to a connecting cluster client is tried, in milliseconds. */
const CONNECT_POLL_MS = 10;

/** The longest time to connect, in milliseconds: the largest `connectTimeout`. */
const MAX_CONNECT_MS = 60_000;

/**
 * Holds the calls to a cluster client of node-redis until it has connected. It queues no command, as all other clients do, but
 * rejects it: with a `TypeError` while it knows no server, and then until it has connected to the server of the key. Such a call
 * was not sent, so it can be tried again.
 */
function holdUntilConnected(client: NodeRedisCluster, port: ClientPort): ClientPort {
  let hasConnected = false;
  let firstCallAt: number | undefined;

  function mayConnect(): boolean {
    firstCallAt ??= performance.now();
    return !hasConnected && performance.now() - firstCallAt < MAX_CONNECT_MS;
  }

  async function callWhenConnected(call: () => Promise<unknown>): Promise<unknown> {
    for (;;) {
      if (!client.isOpen) throw new Error("the cluster client is not open: call connect()");
      if (client.masters.length > 0) {
        try {
          const reply = await call();
          hasConnected = true;
          return reply;
        } catch (error) {
          if (!isOffline(error)) hasConnected = true;
          if (!mayConnect()) throw error;
        }
      } else if (!mayConnect()) throw new Error("the cluster client does not connect");
      await background.runInAsyncScope(pause);
    }
  }

  return {
    evalshaBuffer: (...args) =>
      hasConnected
        ? port.evalshaBuffer(...args)
        : callWhenConnected(() => port.evalshaBuffer(...args)),
    evalBuffer: (...args) =>
      hasConnected ? port.evalBuffer(...args) : callWhenConnected(() => port.evalBuffer(...args)),
  };
}

/** Whether an error says that the client of one server in a cluster is still connecting. */
function isOffline(error: unknown): boolean {
  return error instanceof Error && error.message === "The client is offline";
}

function pause(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, CONNECT_POLL_MS).unref());
}

function fromGlide(client: GlideLike): ClientPort {
  const slots = isGlideCluster(client) ? glideHashSlotsOf(client) : undefined;
  const run = (name: string, script: string, count: number, keysAndArgs: readonly string[]) =>
    callGlide(client, [name, script, String(count), ...keysAndArgs], () =>
      slots?.onTimeout(keysAndArgs[0] as string),
    );
  return {
    evalshaBuffer: (sha1, count, ...keysAndArgs) => run("EVALSHA", sha1, count, keysAndArgs),
    evalBuffer: (source, count, ...keysAndArgs) => run("EVAL", source, count, keysAndArgs),
  };
}

function isNodeRedis(client: unknown): client is NodeRedisLike {
  return hasMethods(client, "evalSha", "eval", "withTypeMapping");
}

/** The shape of a cluster client of node-redis. */
interface NodeRedisCluster {
  /** Whether `connect` was called and has not failed. */
  readonly isOpen: boolean;
  /** Empty until `connect` has read the table of hash slots from a server. */
  readonly masters: readonly unknown[];
}

function isNodeRedisCluster(client: object): client is NodeRedisCluster {
  return Array.isArray((client as Partial<NodeRedisCluster>).masters);
}

function isIoredis(client: unknown): client is IoredisLike & ClientPort {
  return hasMethods(client, "evalshaBuffer", "evalBuffer", "defineCommand") && !isPipeline(client);
}

/** A batch of GLIDE also has the first of them. */
function isGlide(client: unknown): client is GlideLike {
  return hasMethods(client, "customCommand", "invokeScript");
}

/**
 * A pipeline or a transaction of ioredis and iovalkey has all methods of a client. Each returns the pipeline and sends nothing.
 */
function isPipeline(client: unknown): boolean {
  return (client as { readonly isPipeline?: unknown }).isPipeline === true;
}

/** Describes an unsupported client, and what to do about it. */
function describe(client: unknown): string {
  if (hasMethods(client, "evalSha", "eval")) {
    return "one that looks like node-redis 4 or a legacy client: install node-redis 5 or later, and pass what createClient() returns, without legacyMode or legacy()";
  }
  if (hasMethods(client, "evalsha", "eval") && isPipeline(client)) {
    return "a pipeline or a transaction, which sends nothing before exec(): pass the client itself";
  }
  if (hasMethods(client, "evalsha", "eval")) {
    return "one that looks like node-redis 3 or a REST client: use ioredis, iovalkey or node-redis 5 or later, which speak the Redis protocol and return promises";
  }
  if (hasMethods(client, "customCommand")) {
    return "a batch of Valkey GLIDE, which sends nothing before exec(): pass the client itself";
  }
  if (hasMethods(client, "then")) return "a promise, as some libraries return clients: await it";
  return `${formatKind(client)} without their methods`;
}

/** Reads these properties and no others: a getter of a client may throw. */
function hasMethods(value: unknown, ...names: readonly string[]): boolean {
  return (
    typeof value === "object" &&
    value !== null &&
    names.every((name) => typeof (value as Record<string, unknown>)[name] === "function")
  );
}
