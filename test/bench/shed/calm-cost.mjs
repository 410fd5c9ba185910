// What a call costs while the server is calm, in microseconds of processor time: a process of its own, in turns.
import { loadShedder } from "@headgate/shed";
import toobusy from "toobusy-js";
import { answer } from "../other-process.mjs";

/** How many requests a turn of the loop brings. */
const IN_A_TURN = 100;
const WARM_UP_CALLS = 200_000;

const shed = loadShedder();
const request = { headers: {}, socket: {} };
const response = { headersSent: false, writableEnded: false, writeHead() {}, end() {} };
let handled = 0;
const next = () => {
  handled += 1;
};
const CALLS = {
  none: next,
  "toobusy-js"() {
    if (!toobusy()) next();
  },
  Headgate: () => shed(request, response, next),
};

async function measure(name, calls) {
  const call = CALLS[name];
  handled = 0;
  const from = process.cpuUsage();
  for (let made = 0; made < calls; made += IN_A_TURN) {
    for (let i = 0; i < IN_A_TURN; i += 1) call();
    // The loop has a break, as that of a calm server.
    await new Promise((resolve) => setTimeout(resolve));
  }
  const { user, system } = process.cpuUsage(from);
  if (handled < calls)
    throw new Error(`${name}: ${calls - handled} of ${calls} calls were not handled`);
  return (user + system) / calls;
}

for (const name of Object.keys(CALLS)) await measure(name, WARM_UP_CALLS);

answer({ measure });
