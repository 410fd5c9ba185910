// The traffic of the shop: the sample log of the example access-log, repeated at a higher speed, and an attacker who
// tries passwords.
import { readFileSync } from "node:fs";
import { Agent, request } from "node:http";
import { join } from "node:path";

const LOG = join(import.meta.dirname, "../access-log/sample.log");
/** Lines that are no HTTP are in the log, too. */
const LINE = /^(\S+) \S+ \S+ \[[^\]]+\] "([A-Z]+) (\/[!-~]*) HTTP/;

/** Of all clients together, and of the attacker. */
const PER_SECOND = { clients: 40, attacker: 6, payments: 4 };

const ATTACKER = "203.0.113.250";
/** Names of hosts are in the log, too: behind a proxy there are only addresses. */
const NAMED = "198.51.100.7";

const agent = new Agent({ keepAlive: true, maxSockets: 8 });

/**
 * Asks applications on these ports by turns until it is stopped.
 * @param {readonly number[]} ports
 */
export function startTraffic(ports) {
  const requests = readFileSync(LOG, "utf8").split("\n").flatMap(readLine);
  let at = 0;
  /** @param {Asked} asked */
  const send = (asked) => ask(ports[at++ % ports.length] ?? 0, asked);
  let next = 0;
  const timers = [
    setInterval(
      () => send(/** @type {Asked} */ (requests[next++ % requests.length])),
      1_000 / PER_SECOND.clients,
    ),
    setInterval(
      () => send({ from: ATTACKER, method: "POST", path: "/login" }),
      1_000 / PER_SECOND.attacker,
    ),
    setInterval(
      () => send({ from: "192.0.2.77", method: "POST", path: "/pay" }),
      1_000 / PER_SECOND.payments,
    ),
  ];
  return () => {
    for (const timer of timers) clearInterval(timer);
    agent.destroy();
  };
}

/** @typedef {{ from: string, method: string, path: string }} Asked */

/**
 * @param {string} line
 * @returns {Asked[]}
 */
function readLine(line) {
  const [, client = "", method = "GET", path = "/"] = LINE.exec(line) ?? [];
  if (client === "") return [];
  return [{ from: /^[\d.]+$|:/.test(client) ? client : NAMED, method, path }];
}

/**
 * @param {number} port
 * @param {Asked} asked
 */
function ask(port, { from, method, path }) {
  const headers = { "x-forwarded-for": from };
  request({ port, host: "127.0.0.1", method, path, headers, agent }, (response) =>
    response.resume(),
  )
    .on("error", () => {})
    .end();
}
