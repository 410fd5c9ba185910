// Writes the dashboard's page with a recording of a made-up fleet, so that a site without a server can show it:
// `node scripts/build-demo.mjs FOLDER`. Its answers move with time, and it refuses every action.
import { cpSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { buildPage, loadVite } from "./build-page.mjs";

const root = join(import.meta.dirname, "..");

/** Builds the demo into a folder, with a recording made at a time: milliseconds since the epoch. */
export async function buildDemo(folder, at = Date.now()) {
  await buildPage();
  const { runnerImport } = await loadVite();
  const fleet = join(root, "test/dashboard/support/demo-fleet/recording.ts");
  const { module } = await runnerImport(fleet, { configFile: false, logLevel: "error" });
  cpSync(join(root, "packages/dashboard/dist/page"), folder, {
    recursive: true,
    filter: (path) => !/\.(?:br|gz)$/.test(path),
  });
  const index = join(folder, "index.html");
  const page = readFileSync(index, "utf8");
  const html = page
    .replace('content="api/"', 'content="recording.json"')
    .replace('src="?slash"', 'src="./slash.js"');
  if (!html.includes("recording.json")) throw new Error("index.html names no source");
  if (!html.includes("./slash.js")) throw new Error("index.html does not ask for slash.js");
  writeFileSync(index, html);
  writeFileSync(join(folder, "recording.json"), JSON.stringify(module.recordingAt(at)));
}

if (process.argv[1] === import.meta.filename) await buildDemo(process.argv[2]);
