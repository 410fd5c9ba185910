import { spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";

/** The command that opens a file. */
const OPENERS: Readonly<Partial<Record<NodeJS.Platform, readonly [string, ...string[]]>>> = {
  darwin: ["open"],
  win32: ["rundll32", "url.dll,FileProtocolHandler"],
};

/**
 * Opens a secret link in the browser of this user, and resolves with a function that removes the temporary file. The link is in a file that
 * only this user can read, because all users can read the arguments of a process. Opens nothing without a browser or disk space.
 */
export async function openBrowser(link: string): Promise<() => Promise<void>> {
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
