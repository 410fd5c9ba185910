// How long a browser with a slow processor takes from opening the page until the overview is painted, with nothing cached. Needs
// Chromium, Redis and built packages.
//
//   node test/dashboard/first-view.mjs [TIMES]    15 by default
import { startChromium } from "../../scripts/start-chromium.mjs";
import { median } from "./measure/compare-samples.mjs";
import { startFleet } from "./measure/fleet.mjs";

const times = Number(process.argv[2] ?? 15);
/** The factor by which the browser's processor is slowed down. */
const SLOWDOWN = 6;

const [browser, fleet] = await Promise.all([startChromium(), startFleet()]);
const found = [];
for (let i = 0; i < times; i += 1) found.push(await openOnce());
await Promise.all([browser.close(), fleet.end()]);
for (const name of Object.keys(found[0])) {
  const values = found.map((one) => one[name]);
  const [least, most] = [Math.min(...values), Math.max(...values)];
  console.log(
    `${name}: ${Math.round(median(values))} ms (${Math.round(least)} to ${Math.round(most)})`,
  );
}
process.exit();

async function openOnce() {
  const context = await browser.newContext();
  const page = await context.newPage();
  const devtools = await context.newCDPSession(page);
  // Counts the thread's CPU time, so that other work on this machine does not matter.
  await devtools.send("Performance.enable", { timeDomain: "threadTicks" });
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: SLOWDOWN });
  await page.addInitScript(notePaints);
  // Reported through the console, because a script that polls in the page would take a tenth of the measured time.
  const [painted] = await Promise.all([
    page.waitForEvent("console", isPainted),
    page.goto(fleet.url),
  ]);
  const result = JSON.parse(painted.text());
  const { metrics } = await devtools.send("Performance.getMetrics");
  const tasks = metrics.find(({ name }) => name === "TaskDuration").value * 1_000;
  await context.close();
  return { ...result, "main thread": tasks };
}

function isPainted(message) {
  return message.text().startsWith("{");
}

/** Notes when each part of the page was first painted: milliseconds since the navigation began; logs all when it has them. Runs in the page. */
function notePaints() {
  const parts = { frame: "header.top", headline: "main .headline h1", chart: ".chart > *" };
  const painted = {};
  const seen = new Set();
  new MutationObserver(() => {
    for (const [name, selector] of Object.entries(parts)) {
      if (seen.has(name) || !document.querySelector(selector)) continue;
      seen.add(name);
      // The second frame begins after the first one was painted.
      requestAnimationFrame(() =>
        requestAnimationFrame(() => {
          painted[name] = performance.now();
          if (Object.keys(painted).length === Object.keys(parts).length) {
            console.debug(JSON.stringify(painted));
          }
        }),
      );
    }
  }).observe(document, { childList: true, subtree: true });
}
