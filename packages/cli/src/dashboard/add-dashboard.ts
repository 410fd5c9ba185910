import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import type { Server } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir, userInfo } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { createBreaker } from "@headgate/breaker";
import { dashboard } from "@headgate/dashboard";
import { readSecretFile } from "../actions/selection.ts";
import type { AddCommand, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError, messageOf } from "../command/command-error.ts";
import type { Connection, ConnectionOptions } from "../connect/connection.ts";
import { addConnectionOptions, withConnection } from "../connect/connection.ts";
import { gatherFacts } from "../doctor/facts/gather-facts.ts";
import type { DoctorReport } from "../doctor/report.ts";
import { runChecks } from "../doctor/report.ts";
import { createBrowserSession } from "./browser-session.ts";

interface Options extends ConnectionOptions {
  readonly port: string;
  readonly by?: string | undefined;
  readonly readOnly?: boolean | undefined;
  readonly hashSecretFile?: string | undefined;
  readonly open: boolean;
}

/** The default store timeout of applications, with which the doctor compares latencies. */
const STORE_TIMEOUT_MS = 100;

/** Adds `headgate dashboard`, which serves the dashboard. */
export const addDashboard: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("dashboard")
    .summary("open the dashboard in a browser")
    .description(
      "Serves the dashboard to a browser on this machine until Ctrl-C. The printed link works once, and only for the browser that opens it.",
    )
    .option("--port <port>", "the port on 127.0.0.1 (default: any free one)", "0")
    .option("--read-only", "allow no actions")
    .option("--by <name>", "the operator, for the log (default: your user name on this system)")
    .option("--hash-secret-file <file>", "a file with the hashSecret of the limiters' header keys")
    .option("--no-open", "print the link without opening a browser");
  addExamples(addConnectionOptions(command), {
    "headgate dashboard --redis-file ~/.headgate": "open the dashboard",
    "headgate dashboard --read-only --no-open": "print a link to a dashboard without actions",
  });
  command.action(handle((options: Options) => serve(options, context)));
};

async function serve(options: Options, context: CommandContext): Promise<number> {
  const port = readPort(options.port);
  const by = options.by ?? systemUserName();
  const { hashSecretFile: file } = options;
  const hashSecret =
    file === undefined ? undefined : await readSecretFile("--hash-secret-file", file);
  return withConnection(options, context, async (connection) => {
    const session = createBrowserSession(() => hostsOf(server));
    const permission = options.readOnly ? "read" : ({ by, actions: "all" } as const);
    const page = dashboard({
      store: connection.store,
      path: session.path,
      storeTimeout: connection.timeoutMs,
      authorize: (request) => session.isSignedIn(request) && permission,
      createBreaker,
      doctor: () => runDoctor(connection),
      ...(hashSecret === undefined ? {} : { hashSecret }),
    });
    const server = createServer(session.guard((request, response) => page(request, response)));
    await listen(server, port);
    const link = `http://127.0.0.1:${portOf(server)}${session.link}`;
    context.stdout.write(`${link}\n`);
    context.stderr.write(`Dashboard of ${connection.displayUrl}; press Ctrl-C to stop it.\n`);
    const forgetLink = options.open ? await openBrowser(link) : async () => {};
    session.onSignIn = () => void forgetLink();
    await untilClosed(server, context.signal);
    await forgetLink();
    return 0;
  });
}

/** The user name on this system. Some containers have none. */
function systemUserName(): string {
  try {
    return userInfo().username;
  } catch {
    return "headgate dashboard";
  }
}

function readPort(given: string): number {
  const port = Number(given);
  if (/^\d+$/.test(given) && port <= 65_535) return port;
  throw new CommandError(`--port must be a number from 0 to 65535, got ${given}`);
}

async function listen(server: Server, port: number): Promise<void> {
  server.listen(port, "127.0.0.1");
  try {
    await once(server, "listening");
  } catch (error) {
    throw new CommandError(`cannot listen on 127.0.0.1:${port}: ${messageOf(error)}`);
  }
}

function portOf(server: Server): number {
  return (server.address() as AddressInfo).port;
}

function hostsOf(server: Server): readonly string[] {
  const port = portOf(server);
  return [`127.0.0.1:${port}`, `localhost:${port}`];
}

/** Runs the checks of `headgate doctor` for the role of the application. */
async function runDoctor(connection: Connection): Promise<DoctorReport> {
  const facts = await gatherFacts(connection, {
    role: "application",
    storeTimeoutMs: STORE_TIMEOUT_MS,
  });
  return runChecks(connection.displayUrl, facts);
}

/** Resolves when the command is interrupted and the server has closed all connections. */
async function untilClosed(server: Server, signal: AbortSignal): Promise<void> {
  if (!signal.aborted) await once(signal, "abort");
  server.closeAllConnections();
  server.close();
  await once(server, "close");
}

const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/**
 * Opens a secret link in the browser of this user, and resolves with a function that removes the temporary file. The link is in a file that
 * only this user can read, because all users can read the arguments of a process. Opens nothing without a browser or disk space.
 */
async function openBrowser(link: string): Promise<() => Promise<void>> {
  const folder = await mkdtemp(join(tmpdir(), "headgate-")).catch(() => undefined);
  if (folder === undefined) return async () => {};
  const remove = (): Promise<void> => rm(folder, { recursive: true, force: true });
  const file = join(folder, "dashboard.html");
  // The link contains no characters that are special in HTML.
  const page = `<!doctype html><title>Headgate</title><meta name="referrer" content="no-referrer"><meta http-equiv="refresh" content="0; url=${link}"><a href="${link}">Open the dashboard</a>\n`;
  try {
    await writeFile(file, page, { mode: 0o600, flag: "wx" });
  } catch {
    await remove();
    return async () => {};
  }
  const [command, ...args] = OPENERS[process.platform] ?? ["xdg-open"];
  const opener = spawn(command, [...args, pathToFileURL(file).href], {
    stdio: "ignore",
    detached: true,
  });
  opener.on("error", () => {});
  opener.unref();
  return remove;
}
