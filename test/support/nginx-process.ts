import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { hasTool } from "./install-debian.ts";
import { startGuard } from "./process-guard.ts";
import { onPath } from "./redis-binary.ts";
import { waitUntil } from "./wait-until.ts";

const START_TIMEOUT_MS = 20_000;

/** Where Debian's service would note that it runs. */
const SERVICE_PID_FILE = "/run/nginx.pid";

export interface NginxProcess {
  readonly port: number;
  stop(): Promise<void>;
}

/** Whether there is an nginx, installed where that can be done. */
export function hasNginx(): boolean {
  return hasTool({
    name: "nginx",
    need: "a real nginx",
    debian: "nginx-light",
    servicePidFile: SERVICE_PID_FILE,
    isThere: () => onPath("nginx") !== undefined,
  });
}

/** Starts one that has this `server` block, on a port of its own in place of 80, and ends with this process. */
export async function startNginx(server: string): Promise<NginxProcess> {
  const dir = mkdtempSync(join(tmpdir(), "headgate-nginx-"));
  const port = await freePort();
  const config = join(dir, "nginx.conf");
  writeFileSync(config, configOf(server.replace("listen 80;", `listen 127.0.0.1:${port};`)));
  const guard = startGuard(dir);
  const nginx = spawn(onPath("nginx") as string, ["-p", dir, "-c", config, "-e", "stderr"], {
    stdio: ["ignore", "ignore", "inherit"],
    detached: true,
    cwd: dir,
  });
  nginx.unref();
  guard.watch(nginx);

  async function stop(): Promise<void> {
    if (nginx.exitCode === null && nginx.signalCode === null) {
      const exit = once(nginx, "exit");
      nginx.ref();
      nginx.kill("SIGKILL");
      await exit;
    }
    guard.end();
    rmSync(dir, { recursive: true, force: true });
  }

  await waitUntil("nginx is ready", START_TIMEOUT_MS, async () => {
    // Without a request, which an application behind it would count.
    const socket = connect(port, "127.0.0.1");
    await once(socket, "connect");
    socket.destroy();
    return true;
  }).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return { port, stop };
}

/** One process, which writes only into its own folder. */
function configOf(server: string): string {
  const kinds = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"];
  const paths = kinds.map((kind) => `${kind}_temp_path ${kind};`).join(" ");
  return `daemon off; master_process off; pid nginx.pid; error_log stderr error; events {}
http { access_log off; ${paths}
${server}
}`;
}
