// Keeps the dashboard open against a live fleet, walks through its views and takes actions, and reports whether the page or its server leaks
// memory. Needs Chromium, Redis and built packages. Exits with 1 if something grows.
//
//   node test/dashboard/soak.mjs [MINUTES]    60 by default
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { startChromium } from "../../scripts/start-chromium.mjs";
import { compareSamples } from "./measure/compare-samples.mjs";
import { startFleet } from "./measure/fleet.mjs";

const minutes = Number(process.argv[2] ?? 60);
/** The interval between samples in milliseconds: at most two minutes, and short enough for several samples in each third. */
const EVERY = Math.min(120_000, (minutes * 60_000) / 15);

const VIEWS = [
  "#/limiter",
  "#/limiter?name=api",
  "#/limiter?name=login&span=24h",
  "#/subject?subject=203.0.113.250",
  "#/breakers",
  "#/control",
  "#/log",
  "#/redis",
  "#/?span=30d",
];

const interrupted = Promise.race(
  ["SIGINT", "SIGTERM", "SIGHUP"].map((name) => once(process, name)),
).then(() => "interrupted");

const [browser, fleet] = await Promise.all([startChromium(), startFleet()]);
const outcome = await Promise.race([
  soak().catch((error) => {
    console.error(error);
    return "failed";
  }),
  interrupted,
]);
await Promise.all([browser.close(), fleet.end()]);
console.log(outcome);
process.exit(outcome === "steady" ? 0 : 1);

async function soak() {
  const page = await browser.newPage();
  // A loaded machine may be slow.
  page.setDefaultTimeout(120_000);
  const troubles = [];
  page.on("pageerror", (error) => troubles.push(String(error)));
  await page.goto(fleet.url);
  const devtools = await page.context().newCDPSession(page);
  await devtools.send("Performance.enable");
  const samples = [];
  const began = performance.now();
  const end = began + minutes * 60_000;
  while (performance.now() < end) {
    const next = performance.now() + EVERY;
    await walk(page, next);
    const sample = await measure(page, devtools);
    samples.push(sample);
    const at = Math.round((performance.now() - began) / 1_000);
    console.log(JSON.stringify({ at, ...sample }));
  }
  if (troubles.length > 0) {
    console.log(troubles.slice(0, 5).join("\n"));
    return "errors in the page";
  }
  const found = compareSamples(samples);
  for (const { name, before, after, isSteady } of found) {
    console.log(`${isSteady ? "steady" : "GROWS "}  ${name}: ${before} -> ${after}`);
  }
  return found.every(({ isSteady }) => isSteady) ? "steady" : "grows";
}

/** Opens each view, blocks a client and unblocks it, and then stays on the overview. */
async function walk(page, until) {
  for (const hash of VIEWS) {
    await page.goto(fleet.url + hash);
    await page.locator("main h1").first().waitFor();
    await delay(1_000);
  }
  await page.goto(`${fleet.url}#/subject?subject=192.0.2.66&limiter=api`);
  for (const name of ["Block", "Unblock"]) await act(page, name);
  await page.goBack();
  await page.goto(`${fleet.url}#/`);
  await delay(Math.max(0, until - performance.now()));
}

async function act(page, name) {
  await page
    .getByRole("button", { name: `${name}…`, exact: true })
    .first()
    .click();
  const dialog = page.getByRole("dialog");
  await dialog.getByLabel("Reason").fill("soak");
  await dialog.getByRole("button", { name, exact: true }).click();
  await dialog.getByRole("button", { name: "Close" }).click();
  await dialog.waitFor({ state: "detached" });
}

/** Measures the page and the server after a garbage collection: bytes, and the page's nodes and listeners. */
async function measure(page, devtools) {
  await page.locator("main h1").first().waitFor();
  await devtools.send("HeapProfiler.collectGarbage");
  await devtools.send("HeapProfiler.collectGarbage");
  const { metrics } = await devtools.send("Performance.getMetrics");
  const metric = (name) => metrics.find((one) => one.name === name).value;
  const { heapUsed, rss } = await fleet.memory();
  return {
    pageHeap: metric("JSHeapUsedSize"),
    nodes: metric("Nodes"),
    listeners: metric("JSEventListeners"),
    serverHeap: heapUsed,
    serverRss: rss,
  };
}
