// @ts-check
// Writes sample.log to stdout: half a day of an invented site, the same at every run.
//
//   node examples/access-log/scripts/make-sample-log.mjs > examples/access-log/sample.log
//
// Addresses are those set aside for documentation (RFC 5737, RFC 3849), names those of RFC 2606.

const START = Date.UTC(2026, 2, 3, 5, 0, 0);
const END = START + 12 * 3_600_000;
const ZONE_HOURS = 1;

/** @typedef {{ client: string, agent: string }} Sender */
/** @typedef {{ time: number, end: number, text: string }} Line */
/** @typedef {{ method?: string, path: string, status?: number, bytes?: number, referrer?: string, user?: string, takesMs?: number }} Hit */

/** @type {Line[]} */
const lines = [];

// A linear congruential generator modulo 2^32: every run draws the same numbers.
let state = 20_260_303;

/** A number from 0 up to, not including, 1. */
function draw() {
  state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
  return state / 2 ** 32;
}

/** @param {number} low @param {number} high */
const between = (low, high) => low + Math.floor(draw() * (high - low + 1));

/** @template T @param {readonly T[]} items @returns {T} */
const oneOf = (items) => /** @type {T} */ (items[Math.floor(draw() * items.length)]);

/** @param {number} value */
const twoDigits = (value) => String(value).padStart(2, "0");

/** @param {number} time */
function stamp(time) {
  const local = new Date(time + ZONE_HOURS * 3_600_000);
  const month = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ")[local.getUTCMonth()];
  const clock = [local.getUTCHours(), local.getUTCMinutes(), local.getUTCSeconds()].map(twoDigits);
  const zone = `+${twoDigits(ZONE_HOURS)}00`;
  return `${twoDigits(local.getUTCDate())}/${month}/${local.getUTCFullYear()}:${clock.join(":")} ${zone}`;
}

/**
 * A server logs a request when it has been answered, under the time at which it came: slow ones stand out of order.
 * @param {Sender} sender @param {number} time @param {Hit} hit
 */
function log({ client, agent }, time, hit) {
  const { method = "GET", path, status = 200, bytes = between(400, 24_000), referrer = "-" } = hit;
  const size = method === "HEAD" || status === 304 ? "-" : bytes;
  logRaw(
    time,
    `${client} - ${hit.user ?? "-"} [${stamp(time)}] "${method} ${path} HTTP/1.1" ${status} ${size} "${referrer}" "${agent}"`,
    hit.takesMs ?? between(5, 400),
  );
}

/** @param {number} time @param {string} text @param {number} [takesMs] */
function logRaw(time, text, takesMs = 10) {
  lines.push({ time, end: time + takesMs, text });
}

const PAGES = [
  "/",
  "/canals/",
  "/canals/lock-gates",
  "/canals/water-levels?station=12",
  "/mills/",
  "/mills/overshot-wheel",
  "/mills/tail-race",
  "/maps/upper-reach",
  "/maps/weir%20and%20sluice",
  "/about",
  "/search?q=sluice",
];
const ASSETS = [
  "/assets/site.css",
  "/assets/site.js",
  "/assets/heron.webp",
  "/assets/map-tiles/7/61/44.png",
];
const BROWSERS = [
  "ExampleBrowser/31.0 (desktop)",
  "ExampleBrowser/30.2 (phone)",
  "PaperReader/4.4 (tablet)",
];

/** Reads pages, and takes time to: each page brings a few files with it. @param {Sender} visitor @param {number} start */
function visit(visitor, start) {
  let time = start;
  let referrer = oneOf(["-", "https://search.example/", "https://links.example.org/rivers"]);
  const cached = new Set();
  for (let pages = between(2, 9); pages > 0 && time < END; pages -= 1) {
    const path = oneOf(PAGES);
    log(visitor, time, { path, referrer });
    const page = `https://www.example.com${path}`;
    for (const asset of ASSETS) {
      if (cached.has(asset) || draw() < 0.35) continue;
      cached.add(asset);
      log(visitor, time + between(200, 1_800), {
        path: asset,
        referrer: page,
        takesMs: between(20, 3_000),
      });
    }
    referrer = page;
    time += between(8_000, 150_000);
  }
}

function visitors() {
  const addresses = [
    ...Array.from({ length: 60 }, (_, n) => `198.51.100.${20 + 3 * n}`),
    ...Array.from({ length: 30 }, (_, n) => `203.0.113.${10 + 4 * n}`),
    ...Array.from(
      { length: 16 },
      (_, n) => `2001:db8:${(0x20 + 7 * n).toString(16)}::${(0xa0 + n).toString(16)}`,
    ),
    // Two devices of one household: one /64, so one budget.
    "2001:db8:77:1:8c1d:ff:fe00:51",
    "2001:db8:77:1:40aa:12ff:fe9b:7",
  ];
  for (const client of addresses) {
    visit({ client, agent: oneOf(BROWSERS) }, START + Math.floor(draw() * (END - START - 900_000)));
  }
}

/** A server that looks names up logs them in place of addresses. Many people share this one, and one mail sets them off. */
function office() {
  for (const hour of [3.1, 5.2, 5.2, 5.2, 5.2, 5.2, 5.2, 5.2, 5.2, 5.2, 5.2, 7.4]) {
    const sender = { client: "gateway.office.example", agent: oneOf(BROWSERS) };
    visit(sender, START + Math.floor(hour * 3_600_000) + between(0, 20_000));
  }
}

/** Asks again at once when it dislikes the answer. */
function brokenReader() {
  const sender = { client: "2001:db8:c0de::7", agent: "feed-reader/0.1" };
  let time = START + Math.floor(9.4 * 3_600_000);
  for (let hit = 0; hit < 45; hit += 1) {
    log(sender, time, { path: "/feed.xml", status: 304, takesMs: 15 });
    time += between(200, 900);
  }
}

function crawler() {
  const sender = { client: "192.0.2.66", agent: "ExampleBot/1.0 (+https://bot.example/about)" };
  log(sender, START + 30_000, { path: "/robots.txt", bytes: 120 });
  for (let time = START + 60_000; time < END; time += between(90_000, 260_000)) {
    const status = oneOf([200, 200, 200, 304, 404]);
    log(sender, time, {
      path: status === 404 ? `/old/${between(1, 400)}.html` : oneOf(PAGES),
      status,
    });
  }
}

function apiClient() {
  const sender = { client: "192.0.2.130", agent: "level-sync/2.8" };
  for (let time = START + 7_000; time < END; time += 180_000) {
    log(sender, time, {
      path: "/api/levels?since=1h",
      user: "level-sync",
      bytes: between(900, 1_100),
    });
    if (draw() < 0.2)
      log(sender, time + 1_000, {
        method: "POST",
        path: "/api/readings",
        status: 201,
        user: "level-sync",
      });
  }
}

function monitor() {
  const sender = { client: "2001:db8:5::9", agent: "uptime-probe/0.9" };
  for (let time = START + 11_000; time < END; time += 900_000) {
    log(sender, time, { method: "HEAD", path: "/health" });
  }
}

/** Takes every map there is: in haste, then at a pace that only a longer window notices, then in haste again. */
function scraper() {
  const sender = { client: "203.0.113.250", agent: "map-grabber/0.3" };
  let tile = 0;
  const raids = [
    { hour: 2.25, count: 70, pauseMs: 400 },
    { hour: 6.5, count: 150, pauseMs: 1_500 },
    { hour: 10.75, count: 60, pauseMs: 500 },
  ];
  for (const { hour, count, pauseMs } of raids) {
    let time = START + hour * 3_600_000;
    for (let hit = 0; hit < count; hit += 1) {
      log(sender, time, {
        path: `/maps/tiles/9/${200 + Math.floor(tile / 16)}/${tile % 16}.png`,
        takesMs: between(30, 2_500),
      });
      tile += 1;
      time += between(100, pauseMs);
    }
  }
}

/** Looks for doors that this site does not have. */
function prober() {
  const sender = { client: "203.0.113.9", agent: "-" };
  let time = START + 8.2 * 3_600_000;
  /** @type {Hit[]} */
  const hits = [
    { method: "POST", path: "/xmlrpc.php", status: 404 },
    { method: "OPTIONS", path: "*", status: 200 },
    { method: "PROPFIND", path: "/", status: 405 },
    { path: "http://www.example.com/admin", status: 404 },
    { path: "/%2e%2e/%2e%2e/etc/passwd", status: 400 },
    { path: "/?q=%E4%", status: 200 },
    { path: '/a\\"b\\x0ac', status: 404 },
  ];
  for (const hit of hits) {
    log(sender, time, { ...hit, bytes: 310 });
    time += between(400, 1_500);
  }
}

/** What a log holds besides requests. */
function malformed() {
  const noon = START + 6 * 3_600_000;
  logRaw(noon - 4_000_000, `203.0.113.9 - - [${stamp(noon - 4_000_000)}] "-" 408 -`);
  logRaw(noon, `203.0.113.9 - - [${stamp(noon)}] "\\x16\\x03\\x01\\x02" 400 226 "-" "-"`);
  logRaw(noon + 1_000, "# log rotated");
  logRaw(
    noon + 9_000_000,
    `198.51.100.77 - - [${stamp(noon + 9_000_000)}] "GET /canals/ HTTP/1.1" 200 8123 "https://sea`,
  );
}

for (const write of [
  visitors,
  office,
  brokenReader,
  crawler,
  apiClient,
  monitor,
  scraper,
  prober,
  malformed,
])
  write();
lines.sort((a, b) => a.end - b.end);
process.stdout.write(`${lines.map(({ text }) => text).join("\n")}\n`);
