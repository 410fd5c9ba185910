import { once } from "node:events";
import type { Server } from "node:http";
import type { AddressInfo } from "node:net";
import {
  byIp,
  fixedWindow,
  rateLimit as headgate,
  memoryStore,
  perRequest,
  slidingLog,
} from "@headgate/express";
import type { RequestHandler } from "express";
import express from "express";
import { rateLimit } from "express-rate-limit";
import { afterEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { codeIn, page, section, tablesOf } from "../markdown.ts";
import { serve, setUpsOf } from "./applications.ts";
import { optionsOf } from "./options-of.ts";
import type { Asked } from "./traffic.ts";
import { ask, expectSameHeaders, statusesOf, times } from "./traffic.ts";

const it = page("docs/moving/from-express-rate-limit.md");

interface Traffic {
  readonly requests: readonly Asked[];
  /** What both answer. */
  readonly statuses: readonly number[];
  /** What Headgate answers, where the page says that it differs. */
  readonly after?: readonly number[];
  /** Whether the page says that these headers, or the body of a denial, differ. */
  readonly hasOtherHeaders?: boolean;
  readonly hasSameBody?: boolean;
}

const as = (header: string, value: string): Asked => ({ headers: { [header]: value } });
const login = (password: string): Asked => ({
  path: "/login",
  method: "POST",
  headers: { "x-password": password },
});

/** What each set-up of the page is sent. */
const TRAFFIC: Readonly<Record<string, Traffic>> = {
  "The smallest change": { requests: times(7), statuses: [200, 200, 200, 200, 200, 429, 429] },
  Redis: { requests: times(5), statuses: [200, 200, 200, 429, 429] },
  "A key from a header": {
    requests: [...times(3, as("x-api-key", "ada")), as("x-api-key", "grace"), ...times(3)],
    statuses: [200, 200, 429, 200, 200, 200, 429],
  },
  "Limits of a plan": {
    requests: [
      ...times(3, as("x-customer", "ada")),
      ...times(5, { headers: { "x-customer": "grace", "x-plan": "premium" } }),
    ],
    statuses: [200, 200, 429, 200, 200, 200, 200, 429],
  },
  "Requests that are not limited": {
    requests: [...times(3, { path: "/health" }), ...times(2)],
    statuses: [200, 200, 200, 200, 429],
  },
  "An answer of your own": { requests: times(2), statuses: [200, 420], hasSameBody: true },
  "A stricter limit for one route": {
    requests: [...times(3, { path: "/search" }), ...times(2)],
    statuses: [200, 200, 429, 200, 429],
    hasOtherHeaders: true,
  },
  "Several limits of a request": {
    requests: [...times(4, as("x-account", "ada")), ...times(2, as("x-account", "grace"))],
    statuses: [200, 200, 429, 429, 200, 429],
    after: [200, 200, 429, 429, 200, 200],
    hasOtherHeaders: true,
  },
  "Failed logins only": {
    requests: [...times(3, login("right")), ...times(3, login("wrong")), login("right")],
    statuses: [200, 200, 200, 401, 401, 429, 429],
  },
  "Letting a client in again": {
    requests: [...times(2), { path: "/forgive", method: "POST" }, ...times(2)],
    statuses: [200, 429, 200, 200, 429],
  },
};

describe("side by side", () => {
  const setUps = setUpsOf(it);

  test("every set-up of the page gets traffic", () => {
    expect(setUps.map(({ heading }) => heading)).toEqual(Object.keys(TRAFFIC));
  });

  test.each(setUps)("$heading", async ({ heading, before, after }) => {
    const traffic = TRAFFIC[heading] as Traffic;
    const theirs = await ask(await serve(before), traffic.requests);
    const ours = await ask(await serve(after), traffic.requests);
    expect(statusesOf(theirs)).toEqual(traffic.statuses);
    expect(statusesOf(ours)).toEqual(traffic.after ?? traffic.statuses);
    if (!traffic.hasOtherHeaders) expectSameHeaders(theirs, ours);
    if (traffic.hasSameBody) {
      expect(await ours.at(-1)?.json()).toEqual(await theirs.at(-1)?.json());
    }
  });
});

/** Serves a middleware for clients that say their address, until the test ends. */
async function serveAll(middleware: unknown): Promise<string> {
  const app = express().set("trust proxy", "loopback").set("env", "test");
  app.use(middleware as RequestHandler);
  app.get("/", (_req, res) => {
    res.send("hello");
  });
  const server: Server = app.listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const from = (address: string): Asked => as("x-forwarded-for", address);
const minute = 60_000;
const onceAMinute = fixedWindow({ limit: 1, window: "1m" });

/** The statuses that each of them answers. */
async function compare(theirs: unknown, ours: unknown, requests: readonly Asked[]) {
  const before = await ask(await serveAll(theirs), requests);
  const after = await ask(await serveAll(ours), requests);
  return { before: statusesOf(before), after: statusesOf(after), denied: after.at(-1) };
}

/** What differs on purpose, by how its line on the page begins. */
const DIFFERENCES: Readonly<Record<string, () => Promise<void>>> = {
  async "Windows may slide."() {
    vi.useFakeTimers({ toFake: ["Date"], now: Date.UTC(2030, 0, 1) });
    const store = memoryStore({ clock: () => Date.now() });
    const limits = slidingLog({ limit: 3, window: "1m" });
    const before = await serveAll(rateLimit({ windowMs: minute, limit: 3 }));
    const after = await serveAll(headgate({ name: "slides", limits, store }));
    const admitted = { before: 0, after: 0 };
    for (const [at, count] of [
      [0, 1],
      [59_900, 2],
      [60_100, 3],
    ] as const) {
      vi.setSystemTime(Date.UTC(2030, 0, 1) + at);
      const [theirs, ours] = [await ask(before, times(count)), await ask(after, times(count))];
      if (at === 0) continue;
      admitted.before += statusesOf(theirs).filter((status) => status === 200).length;
      admitted.after += statusesOf(ours).filter((status) => status === 200).length;
    }
    expect(admitted).toEqual({ before: 5, after: 3 });
  },
  async "A denial charges nothing."() {
    const { statuses, after } = TRAFFIC["Several limits of a request"] as Traffic;
    expect(after).not.toEqual(statuses);
  },
  async "A client without a key is not everybody."() {
    const key = (req: { get(name: string): string | undefined }) => req.get("x-api-key");
    const keyGenerator = key as never;
    const requests = [from("203.0.113.1"), from("203.0.113.2")];
    const theirs = rateLimit({ windowMs: minute, limit: 1, keyGenerator });
    const { before, after } = await compare(
      theirs,
      headgate({ limits: onceAMinute, key }),
      requests,
    );
    expect({ before, after }).toEqual({ before: [200, 429], after: [200, 200] });
    const reject = await serveAll(headgate({ limits: onceAMinute, key, missing: "reject" }));
    expect(statusesOf(await ask(reject, requests))).toEqual([400, 400]);
  },
  async "An IPv6 client is its /64."() {
    const requests = [from("2001:db8:0:1::1"), from("2001:db8:0:2::1"), from("2001:db8:0:2::2")];
    const theirs = rateLimit({ windowMs: minute, limit: 1 });
    const { before, after } = await compare(theirs, headgate({ limits: onceAMinute }), requests);
    expect({ before, after }).toEqual({ before: [200, 429, 429], after: [200, 200, 429] });
    const as56 = await serveAll(headgate({ limits: onceAMinute, key: byIp({ ipv6Prefix: 56 }) }));
    expect(statusesOf(await ask(as56, requests))).toEqual(before);
  },
  async "A limit that is no number is an error."() {
    vi.spyOn(console, "error").mockImplementation(() => {});
    const limits = perRequest(onceAMinute, () => fixedWindow({ limit: Number.NaN, window: "1m" }));
    const theirs = rateLimit({ windowMs: minute, limit: () => Number.NaN });
    const { before, after } = await compare(theirs, headgate({ limits }), times(3));
    expect({ before, after }).toEqual({ before: [200, 200, 200], after: [500, 500, 500] });
  },
  async "An option that nobody reads is an error."() {
    const logger = { error: vi.fn(), warn: vi.fn() };
    rateLimit({ logger, windwMs: minute } as never);
    expect(logger.error.mock.calls.length + logger.warn.mock.calls.length).toBeGreaterThan(0);
    expect(() => headgate({ limits: onceAMinute, windowMs: minute } as never)).toThrow(
      "Headgate's way is",
    );
  },
  async "A denial is not cached, and says which limit denied."() {
    const theirs = rateLimit({ windowMs: minute, limit: 1 });
    const { denied } = await compare(theirs, headgate({ limits: onceAMinute }), times(2));
    expect(denied?.headers.get("cache-control")).toBe("no-store");
    expect(await denied?.json()).toMatchObject({ "violated-policies": ["1-per-1m"] });
  },
};

describe("what differs on purpose", () => {
  afterEach(() => {
    vi.useRealTimers();
    vi.restoreAllMocks();
  });

  test("every difference on the page is shown", () => {
    const leads = [...section(it, "What differs on purpose").matchAll(/^- \*\*(.+?)\*\*/gm)];
    expect(leads.map(([, lead]) => lead)).toEqual(Object.keys(DIFFERENCES));
  });

  test.each(Object.keys(DIFFERENCES))("%s", async (lead) => DIFFERENCES[lead]?.());
});

describe("the options", () => {
  const rows = tablesOf(section(it, "Every option"))[0]?.rows ?? [];
  const slower = tablesOf(section(it, "express-slow-down"))[0]?.rows ?? [];

  test("are all that its types have", () => {
    const documented = rows.flatMap(([there = ""]) => codeIn(there));
    const typed = optionsOf("express-rate-limit/dist/index.d.ts", "Options");
    expect(documented.toSorted()).toEqual(typed.toSorted());
  });

  test.each([...rows, ...slower])("%s: the error says what the page does", (there, here = "") => {
    const [option = ""] = codeIn(there ?? "");
    const isOurs = ["headers", "skip", "store"].includes(option);
    const make = () => headgate({ limits: onceAMinute, [option]: 1 } as never);
    if (isOurs) expect(make).toThrow(/must|store/);
    else if (here === "none") expect(make).toThrow(`unknown option "${option}"; it takes`);
    else expect(make).toThrow(`Headgate's way is ${answerOf(here)}`);
  });
});

/** What a cell says, without its marks. */
function answerOf(cell: string): string {
  return cell.replaceAll("`", "");
}
