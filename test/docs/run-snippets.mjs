// @ts-check
// Runs scripts one after another in one process. Prints a JSON object for each: the lines it printed, and its errors and
// warnings.
import diagnostics from "node:diagnostics_channel";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout as after } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { format } from "node:util";

/** @type {{ printed: string[], problems: string[] }} */
let outcome;
const report = (/** @type {unknown} */ error) => outcome.problems.push(String(error));

console.log = (...args) => outcome.printed.push(format(...args));
console.error = (...args) => outcome.problems.push(format(...args));
process.on("unhandledRejection", report);
process.on("uncaughtException", report);
process.on("warning", report);

// The subscriptions of one snippet would receive the messages of the next ones.
const { subscribe } = diagnostics;
/** @type {Parameters<typeof subscribe>[]} */
let subscriptions = [];
diagnostics.subscribe = (...subscription) => {
  subscriptions.push(subscription);
  subscribe(...subscription);
};
syncBuiltinESMExports();

for (const file of process.argv.slice(2)) {
  outcome = { printed: [], problems: [] };
  await import(pathToFileURL(file).href).catch(report);
  // Asynchronous errors and messages arrive a little later.
  await after(20);
  for (const subscription of subscriptions) diagnostics.unsubscribe(...subscription);
  subscriptions = [];
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
// Open servers and connections would keep the process alive.
process.exit();
