import type { ChildProcess } from "node:child_process";
import { spawn } from "node:child_process";

/** Ends a server, and removes its directory, when this process is gone. */
export interface ProcessGuard {
  /** Guards this process from now on, in place of the one before. */
  watch(server: ChildProcess): void;
  /** Guards nothing any more. */
  end(): void;
}

/**
 * Ends the server when this process is gone, even killed: a pipe closes with the process that holds it,
 * which no exit handler survives to do.
 */
export function startGuard(dir: string): ProcessGuard {
  const script =
    'while read -r line; do pid=$line; done; [ -n "$pid" ] && kill -9 "$pid"; rm -rf "$1"';
  const guard = spawn("/bin/sh", ["-c", script, "guard", dir], {
    stdio: ["pipe", "ignore", "ignore"],
    detached: true,
  });
  guard.unref();
  guard.stdin?.on("error", () => {});
  (guard.stdin as { unref?: () => void } | null)?.unref?.();
  return {
    watch(server: ChildProcess): void {
      guard.stdin?.write(`${server.pid ?? ""}\n`);
      // A server that ended by itself has given its process id back; the guard must not use it.
      server.once("exit", () => guard.stdin?.write("\n"));
    },
    end(): void {
      guard.kill("SIGKILL");
    },
  };
}
