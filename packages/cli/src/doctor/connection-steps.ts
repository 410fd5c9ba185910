import { lookup } from "node:dns/promises";
import { readFile } from "node:fs/promises";
import { connect as connectTcp, isIP } from "node:net";
import { connect as connectTls } from "node:tls";
import { escapeHidden } from "@headgate/replay/internal";
import type { CommandContext } from "../command/cli.ts";
import { CommandError, EXIT, messageOf } from "../command/command-error.ts";
import type { ConnectionOptions } from "../connect/connection.ts";
import type { Address } from "../connect/redis-url.ts";
import { parseRedisUrl } from "../connect/redis-url.ts";
import { readRedisFile } from "../connect/target.ts";
import { writeJson } from "../output/json.ts";
import { styleFor } from "../output/style.ts";

/** A step that takes longer has failed. */
const STEP_TIMEOUT_MS = 2_000;

/** One step of connecting to a server. */
export interface ConnectionStep {
  readonly name: "name" | "connection" | "tls" | "redis";
  readonly succeeded: boolean;
  readonly message: string;
}

/** Tries each step of connecting to every host without credentials: DNS, TCP, TLS. Rejects with a `CommandError`. */
async function trySteps(
  options: ConnectionOptions,
  { environment }: CommandContext,
): Promise<readonly ConnectionStep[]> {
  const { redis, redisFile, cacert, sentinel } = options;
  const url =
    redisFile === undefined ? (redis ?? environment["REDIS_URL"]) : await readRedisFile(redisFile);
  const { addresses, path, isTls } = parseRedisUrl(url || "redis://127.0.0.1", "the URL");
  if (path !== undefined) return [await connectStep(path, { path })];
  const ca = isTls && cacert !== undefined ? await readFile(cacert, "utf8") : undefined;
  const defaultPort = sentinel === undefined ? 6379 : 26379;
  const steps: ConnectionStep[] = [];
  for (const { host, port } of addresses) {
    steps.push(...(await tryHost({ host, port: port || defaultPort }, isTls, ca)));
  }
  return steps;
}

async function tryHost(
  address: Address,
  isTls: boolean,
  ca: string | undefined,
): Promise<readonly ConnectionStep[]> {
  const target = `${address.host}:${address.port}`;
  const steps = [await resolveName(address.host)];
  if (steps.every(({ succeeded }) => succeeded)) steps.push(await connectStep(target, address));
  if (isTls && steps.every(({ succeeded }) => succeeded))
    steps.push(await tlsStep(target, address, ca));
  return steps;
}

async function resolveName(host: string): Promise<ConnectionStep> {
  return tryStep("name", async () => {
    const found = await lookup(host, { all: true });
    const addresses = found.map(({ address }) => address).join(", ");
    return host === addresses ? `${host} is an IP address` : `${host} resolves to ${addresses}`;
  });
}

function connectStep(
  target: string,
  to: { readonly path: string } | Address,
): Promise<ConnectionStep> {
  return tryStep("connection", async () => {
    const start = performance.now();
    const socket = connectTcp(to);
    await untilEvent(socket, "connect");
    return `${target} accepts connections, after ${(performance.now() - start).toFixed(1)} ms`;
  });
}

function tlsStep(
  target: string,
  { host, port }: Address,
  ca: string | undefined,
): Promise<ConnectionStep> {
  return tryStep("tls", async () => {
    const socket = connectTls({
      host,
      port,
      // TLS has no server name for an IP address, and Node warns if there is one.
      ...(isIP(host) === 0 ? { servername: host } : {}),
      ...(ca === undefined ? {} : { ca }),
    });
    await untilEvent(socket, "secureConnect");
    return `${target} speaks ${socket.getProtocol()}, with a trusted certificate`;
  });
}

async function untilEvent(
  socket: ReturnType<typeof connectTcp>,
  event: "connect" | "secureConnect",
): Promise<void> {
  const hint = event === "connect" ? "" : ": the server may not use TLS";
  const timeout = new Error(`no answer within ${STEP_TIMEOUT_MS / 1_000} s${hint}`);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.once(event, resolve);
      socket.once("error", reject);
      socket.setTimeout(STEP_TIMEOUT_MS, () => reject(timeout));
    });
  } finally {
    socket.destroy();
  }
}

async function tryStep(
  name: ConnectionStep["name"],
  make: () => Promise<string>,
): Promise<ConnectionStep> {
  try {
    return { name, succeeded: true, message: await make() };
  } catch (error) {
    return { name, succeeded: false, message: messageOf(error) };
  }
}

/** Prints the steps of connecting if Redis cannot be reached. Other failures need no steps, because their message names the cause. */
export async function printConnectionSteps(
  failure: unknown,
  options: ConnectionOptions & { readonly json?: boolean | undefined },
  context: CommandContext,
): Promise<void> {
  if (!(failure instanceof CommandError) || failure.exitCode !== EXIT.store) return;
  const completed = await trySteps(options, context).catch((): readonly ConnectionStep[] => []);
  const redis: ConnectionStep = { name: "redis", succeeded: false, message: failure.message };
  const isConnected = completed.every(({ succeeded }) => succeeded);
  const steps = isConnected ? [...completed, redis] : completed;
  const { stdout, environment } = context;
  if (options.json) return writeJson(stdout, { steps });
  const style = styleFor(stdout, environment);
  for (const { name, succeeded, message } of steps) {
    const sign = succeeded ? style("green", "✓ ok    ") : style("red", "✗ failed");
    stdout.write(`${sign}  ${name.padEnd(10)}  ${escapeHidden(message)}\n`);
  }
}
