// @ts-check
// Runs the scripts it is given, one after another, in one process. Prints a JSON object for each: the lines it printed
// itself, and what it complained of.
import diagnostics from "node:diagnostics_channel";
import { syncBuiltinESMExports } from "node:module";
import { setTimeout as after } from "node:timers/promises";
import { pathToFileURL } from "node:url";
import { format } from "node:util";

/** @type {{ printed: string[], complaints: string[] }} */
let outcome;
const complain = (/** @type {unknown} */ error) => outcome.complaints.push(String(error));

console.log = (...args) => outcome.printed.push(format(...args));
console.error = (...args) => outcome.complaints.push(format(...args));
process.on("unhandledRejection", complain);
process.on("uncaughtException", complain);
process.on("warning", complain);

// What one snippet subscribed to would hear those that follow.
const { subscribe } = diagnostics;
/** @type {Parameters<typeof subscribe>[]} */
let subscriptions = [];
diagnostics.subscribe = (...subscription) => {
  subscriptions.push(subscription);
  subscribe(...subscription);
};
syncBuiltinESMExports();

for (const file of process.argv.slice(2)) {
  outcome = { printed: [], complaints: [] };
  await import(pathToFileURL(file).href).catch(complain);
  // What it set off shows a little later.
  await after(20);
  for (const subscription of subscriptions) diagnostics.unsubscribe(...subscription);
  subscriptions = [];
  process.stdout.write(`${JSON.stringify(outcome)}\n`);
}
// Servers and connections would go on.
process.exit();
