import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { connect as connectTcp, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import type { CommandContext } from "../command/cli.ts";
import { CommandError, EXIT, messageOf } from "../command/command-error.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import { readRedisFile } from "../connect/redis-file.ts";
import type { Address } from "../connect/redis-url.ts";
import { parseRedisUrl } from "../connect/redis-url.ts";
import { writeJson } from "../output/json.ts";
import { styleFor } from "../output/style.ts";
import { visible } from "../output/visible.ts";

/** A step that takes more milliseconds has failed. */
const LONGEST_MS = 2_000;

/** One step on the way to a server that was not reached. */
export interface Step {
  readonly name: "name" | "connection" | "tls" | "redis";
  readonly isMade: boolean;
  readonly found: string;
}

/** Tries each step of the way to a server, without any secret: the name, a connection, TLS. Each of several hosts is tried. Rejects with a `CommandError`. */
async function readSteps(
  options: ConnectionOptions,
  { environment }: CommandContext,
): Promise<readonly Step[]> {
  const { redis, redisFile, cacert, sentinel } = options;
  const url =
    redisFile === undefined ? (redis ?? environment["REDIS_URL"]) : await readRedisFile(redisFile);
  const { addresses, path, isTls } = parseRedisUrl(url || "redis://127.0.0.1", "the URL");
  if (path !== undefined) return [await connectStep(path, { path })];
  const ca = isTls && cacert !== undefined ? await readFile(cacert, "utf8") : undefined;
  const usual = sentinel === undefined ? 6379 : 26379;
  const steps: Step[] = [];
  for (const { host, port } of addresses) {
    steps.push(...(await readHost({ host, port: port || usual }, isTls, ca)));
  }
  return steps;
}

async function readHost(
  address: Address,
  isTls: boolean,
  ca: string | undefined,
): Promise<readonly Step[]> {
  const place = `${address.host}:${address.port}`;
  const steps = [await nameStep(address.host)];
  if (steps.every(({ isMade }) => isMade)) steps.push(await connectStep(place, address));
  if (isTls && steps.every(({ isMade }) => isMade)) steps.push(await tlsStep(place, address, ca));
  return steps;
}

async function nameStep(host: string): Promise<Step> {
  return stepOf("name", async () => {
    const found = await lookup(host, { all: true });
    const addresses = found.map(({ address }) => address).join(", ");
    return host === addresses ? `${host} is an address` : `${host} is ${addresses}`;
  });
}

function connectStep(place: string, to: { readonly path: string } | Address): Promise<Step> {
  return stepOf("connection", async () => {
    const start = performance.now();
    const socket = connectTcp(to);
    await untilEvent(socket, "connect");
    return `${place} takes connections, after ${(performance.now() - start).toFixed(1)} ms`;
  });
}

function tlsStep(place: string, { host, port }: Address, ca: string | undefined): Promise<Step> {
  return stepOf("tls", async () => {
    const socket = connectTls({
      host,
      port,
      // TLS has no server name for an address; Node warns of one.
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca }),
    });
    await untilEvent(socket, "secureConnect");
    return `${place} speaks ${socket.getProtocol()}, with a certificate that is trusted`;
  });
}

async function untilEvent(
  socket: ReturnType<typeof connectTcp>,
  event: "connect" | "secureConnect",
): Promise<void> {
  const like = event === "connect" ? "" : ", as from a server without TLS";
  const late = new Error(`no answer within ${LONGEST_MS / 1_000} s${like}`);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once(event, resolve);
      socket.once("error", reject);
      socket.setTimeout(LONGEST_MS, () => reject(late));
    });
  } finally {
    socket.destroy();
  }
}

async function stepOf(name: Step["name"], make: () => Promise<string>): Promise<Step> {
  try {
    return { name, isMade: true, found: await make() };
  } catch (error) {
    return { name, isMade: false, found: messageOf(error) };
  }
}

/** If there is no connection, prints which step on the way fails. Other failures explain themselves. */
export async function explainFailure(
  failure: unknown,
  options: ConnectionOptions & { readonly json?: boolean | undefined },
  context: CommandContext,
): Promise<void> {
  if (!(failure instanceof CommandError) || failure.exitCode !== EXIT.store) return;
  const before = await readSteps(options, context).catch((): readonly Step[] => []);
  const redis: Step = { name: "redis", isMade: false, found: failure.message };
  const isReached = before.every(({ isMade }) => isMade);
  const steps = isReached ? [...before, redis] : before;
  const { stdout, environment } = context;
  if (options.json) return writeJson(stdout, { steps });
  const style = styleFor(stdout, environment);
  for (const { name, isMade, found } of steps) {
    const sign = isMade ? style("green", "✓ ok    ") : style("red", "✗ failed");
    stdout.write(`${sign}  ${name.padEnd(10)}  ${visible(found)}\n`);
  }
}
