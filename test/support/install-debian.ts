import { spawnSync } from "node:child_process";
import { existsSync, readFileSync } from "node:fs";
import { onPath } from "./redis-binary.ts";

/** Long enough for a slow mirror, and short enough for a machine without network. */
const APT_TIMEOUT_MS = 180_000;

/** A program that some tests need. */
interface Tool {
  /** The name of the program in a sentence. */
  readonly name: string;
  /** The need of its tests, for the reason of a skipped test. */
  readonly need: string;
  /** Debian's package. */
  readonly debian: string;
  /** Where its service would note its process id, if it has one. */
  readonly servicePidFile?: string;
  isThere(): boolean;
}

/** Whether there is a tool, installed where that can be done; else says in one line what is missing. In CI it throws. */
export function hasTool({ name, need, debian, servicePidFile, isThere }: Tool): boolean {
  if (!isThere()) installDebian(debian, servicePidFile);
  if (isThere()) return true;
  const remedy = `install ${name.toLowerCase()} (Debian: apt-get install ${debian})`;
  // CI must not skip tests silently.
  if (process.env["CI"]) throw new Error(`no ${name}, and none could be installed: ${remedy}`);
  console.error(`Skipped what needs ${need}: ${remedy}.`);
  return false;
}

/**
 * Installs a package of Debian's, without its service, whose process id would be in `servicePidFile`, if it has one. Does nothing
 * where there is no apt or no right to use it.
 */
export function installDebian(name: string, servicePidFile?: string): void {
  if (process.getuid?.() !== 0 || onPath("apt-get") === undefined) return;
  console.error(`No ${name} was found: installing Debian's, for the tests.`);
  const hadService = servicePidFile === undefined || existsSync(servicePidFile);
  // Old package lists may be enough, and the caller checks for the program, so failures are ignored.
  apt("update");
  apt("install", "--yes", "--no-install-recommends", name);
  if (!hadService) endService(servicePidFile);
}

function apt(...args: readonly string[]): void {
  const { status, stderr } = spawnSync(
    "apt-get",
    ["--quiet", "-o", "DPkg::Lock::Timeout=120", ...args],
    {
      stdio: ["ignore", "ignore", "pipe"],
      encoding: "utf8",
      timeout: APT_TIMEOUT_MS,
      // In runlevel 1 no service is started by the installation of a package.
      env: { ...process.env, DEBIAN_FRONTEND: "noninteractive", RUNLEVEL: "1" },
    },
  );
  if (status !== 0) console.error(`apt-get ${args[0]}: ${stderr?.trim() || "did not end in time"}`);
}

/** Ends the service if the package has started it. */
function endService(pidFile: string): void {
  if (!existsSync(pidFile)) return;
  const pid = Number(readFileSync(pidFile, "utf8"));
  console.error(`The package started its service; ending it (process ${pid}).`);
  process.kill(pid);
}
