import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { freePort } from "./free-port.ts";
import { hasTool } from "./install-debian.ts";
import { startGuard } from "./process-guard.ts";
import { onPath } from "./redis-binary.ts";
import { waitUntil } from "./wait-until.ts";

const START_TIMEOUT_MS = 20_000;

/** Where Debian's service would note that it runs. */
const SERVICE_PID_FILE = "/run/prometheus/prometheus.pid";

/** A sample of a series, as Prometheus's API has it. */
export interface Sample {
  readonly metric: Readonly<Record<string, string>>;
  readonly value: readonly [at: number, value: string];
}

export interface PrometheusProcess {
  /** Evaluates an expression now. Rejects where Prometheus refuses it. */
  query(expression: string): Promise<readonly Sample[]>;
  /** The alert rules that it has loaded. */
  rules(): Promise<readonly { readonly name: string; readonly query: string }[]>;
  stop(): Promise<void>;
}

/** Whether there are Prometheus and its promtool, installed where that can be done. */
export function hasPrometheus(): boolean {
  return hasTool({
    name: "Prometheus",
    need: "a real Prometheus",
    debian: "prometheus",
    servicePidFile: SERVICE_PID_FILE,
    isThere: () => onPath("prometheus") !== undefined && onPath("promtool") !== undefined,
  });
}

/** Starts one on a port of its own, which scrapes each target every second and evaluates the rules, and ends with this process. */
export async function startPrometheus(
  targets: Readonly<Record<string, number>>,
  ruleFile: string,
): Promise<PrometheusProcess> {
  const dir = mkdtempSync(join(tmpdir(), "headgate-prometheus-"));
  const config = join(dir, "prometheus.json");
  writeFileSync(config, JSON.stringify(configOf(targets, ruleFile)));
  const port = await freePort();
  const guard = startGuard(dir);
  const server = spawn(
    onPath("prometheus") as string,
    [
      `--config.file=${config}`,
      `--storage.tsdb.path=${join(dir, "data")}`,
      `--web.listen-address=127.0.0.1:${port}`,
      "--log.level=error",
    ],
    { stdio: "ignore", detached: true, cwd: dir },
  );
  server.unref();
  guard.watch(server);

  async function query(path: string): Promise<unknown> {
    const answer = await fetch(`http://127.0.0.1:${port}${path}`);
    const { status, data, error } = (await answer.json()) as Record<string, unknown>;
    if (status !== "success") throw new Error(String(error));
    return data;
  }

  async function stop(): Promise<void> {
    if (server.exitCode === null && server.signalCode === null) {
      const exit = once(server, "exit");
      server.ref();
      server.kill("SIGKILL");
      await exit;
    }
    guard.end();
    rmSync(dir, { recursive: true, force: true });
  }

  await waitUntil("Prometheus is ready", START_TIMEOUT_MS, async () => {
    const { ok } = await fetch(`http://127.0.0.1:${port}/-/ready`);
    return ok || undefined;
  }).catch(async (error: unknown) => {
    await stop();
    throw error;
  });
  return {
    async query(expression) {
      const data = await query(`/api/v1/query?query=${encodeURIComponent(expression)}`);
      return (data as { result: Sample[] }).result;
    },
    async rules() {
      const data = await query("/api/v1/rules?type=alert");
      return (data as { groups: { rules: { name: string; query: string }[] }[] }).groups.flatMap(
        (group) => group.rules,
      );
    },
    stop,
  };
}

/** JSON is YAML. */
function configOf(targets: Readonly<Record<string, number>>, ruleFile: string): object {
  return {
    global: { scrape_interval: "1s", evaluation_interval: "1s" },
    rule_files: [ruleFile],
    scrape_configs: Object.entries(targets).map(([job, port]) => ({
      job_name: job,
      static_configs: [{ targets: [`127.0.0.1:${port}`] }],
    })),
  };
}
