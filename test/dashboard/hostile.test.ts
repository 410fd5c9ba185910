import { connect } from "node:net";
import { setImmediate } from "node:timers/promises";
import { fixedWindow } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { describe, expect, onTestFinished, test } from "vitest";
import { useOwnRedis } from "../support/own-redis.ts";
import { consume, createFleet, THREE_AN_HOUR } from "./support/fleet.ts";
import { mounts, nodeMount } from "./support/mounts.ts";
import { ANN, seedDenied } from "./support/seed-denied.ts";
import { api, SAME_ORIGIN, sendRequest } from "./support/send-request.ts";

const own = useOwnRedis();

const TEXTS: readonly string[] = [
  "<script>alert(1)</script>",
  `"><img src=x onerror=alert(1)>`,
  "__proto__",
  "constructor",
  "a\u202eb\u2066c",
  "\ud800",
  "x\udc00y",
  "\u0000\u0001\u001b[31m",
  "\r\nSet-Cookie: a=1",
  "../../etc/passwd",
  "{hash}:tag",
  "%2e%2e%00",
  " ",
  "😀".repeat(100),
  "\u2028\u2029",
];

/** Usage does not store a name with unpaired surrogates unchanged. */
const nameOf = (text: string): string => (text.isWellFormed() ? text : "api");

test.each(TEXTS)(
  "a limiter and a subject named %j are returned unchanged, as JSON",
  async (text) => {
    const fleet = createFleet(own.client);
    await consume(fleet.make(nameOf(text), THREE_AN_HOUR), text, 4);
    await fleet.report();
    const admin = createAdmin(fleet.store);
    const page = await nodeMount.mount({
      store: fleet.store,
      authorize: () => ({ by: "eve", actions: "all" }),
    });
    const overview = await api(page, "overview");
    expect(overview.headers["content-type"]).toBe("application/json; charset=utf-8");
    const [limiter] = overview.json.limiters;
    expect(limiter).toMatchObject({ name: nameOf(text), totals: { denied: 1 } });
    const subject = await api(page, "subject", { subject: text, kind: "text" });
    const [found] = subject.json.limiters;
    expect(found).toMatchObject({ name: nameOf(text), subject: { default: text }, allowed: false });
    const action = { kind: "block", limiter: nameOf(text), subject: found.subject, forMs: 60_000 };
    const { token } = (await api(page, "preview", { action })).json;
    const reason = `${text}!`;
    expect((await api(page, "act", { action, reason, token })).status).toBe(200);
    const log = await api(page, "log");
    expect(log.json.rows).toMatchObject([
      { limiter: nameOf(text), subject: { default: text }, reason },
    ]);
    expect((await api(page, "control")).json.blocks).toMatchObject([
      { limiter: nameOf(text), reason },
    ]);
    const [entry] = (await admin.log()).entries;
    expect(entry).toMatchObject({ by: "eve", subject: { default: text } });
    // A URL cannot contain an unpaired surrogate.
    if (text.isWellFormed()) {
      const view = await api(page, `limiter?name=${encodeURIComponent(text)}`);
      expect(view.json).toMatchObject({ name: nameOf(text), totals: { denied: 1 } });
    }
  },
);

test.each(["constructor", "toString", "valueOf", "__proto__", "then", "toJSON"])(
  "a dimension named %s works like any other",
  async (per) => {
    const fleet = createFleet(own.client);
    const limiter = fleet.make("api", fixedWindow({ limit: 3, window: "1h", per }));
    for (let i = 0; i < 4; i += 1) await limiter.consume({ [per]: "ann" });
    await fleet.report();
    const page = await nodeMount.mount({ store: fleet.store, authorize: () => "read" });
    const { json } = await api(page, "subject", { subject: "ann", kind: "text" });
    expect(json.limiters).toMatchObject([{ name: "api", allowed: false }]);
    expect(Object.entries(json.limiters[0].subject)).toEqual([[per, "ann"]]);
  },
);

test("a deeply nested body, or one that pollutes prototypes, is refused", async () => {
  const fleet = createFleet(own.client);
  fleet.make("api", THREE_AN_HOUR);
  await fleet.report();
  const page = await nodeMount.mount({
    store: fleet.store,
    authorize: () => ({ by: "eve", actions: "all" }),
  });
  const start = `{"action":{"kind":"setOverride","limiter":"api","forMs":null,"limits":`;
  const bodies = [
    `${start}${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}}}`,
    `${start}${"[".repeat(30_000)}${"]".repeat(30_000)}}}`,
    `${start}{"__proto__":{"limit":1}}}}`,
    `{"__proto__":{"action":{"kind":"reset","limiter":"api","subject":{"default":"ann"}}}}`,
    `{"action":{"__proto__":{"kind":"reset"},"limiter":"api","subject":{"default":"ann"}}}`,
  ];
  for (const body of bodies) {
    for (const write of ["preview", "act", "subject"]) {
      const { status } = await sendRequest(`${page}api/${write}`, {
        method: "POST",
        headers: SAME_ORIGIN,
        body,
      });
      expect([body.slice(0, 90), write, status]).toEqual([body.slice(0, 90), write, 400]);
    }
  }
  expect(({} as Record<string, unknown>)["action"]).toBeUndefined();
});

test("a deeply nested body is refused also with a token, and also if the application has parsed it", async () => {
  const { options } = await seedDenied(own.client);
  const reset = { kind: "reset", ...ANN };
  const deep = `${'{"a":'.repeat(10_000)}1${"}".repeat(10_000)}`;
  const action = `{"kind":"setOverride","limiter":"api","forMs":null,"limits":${deep}}`;
  for (const { name, mount } of mounts) {
    for (const parsesBodies of [false, true]) {
      const page = await mount({ ...options, parsesBodies });
      const { token } = (await api(page, "preview", { action: reset })).json;
      const body = `{"token":"${token}","reason":"r","action":${action}}`;
      const asked = { method: "POST", headers: SAME_ORIGIN, body };
      const { status } = await sendRequest(`${page}api/act`, asked);
      expect([name, parsesBodies, status]).toEqual([name, parsesBodies, 400]);
    }
  }
});

test("a client that disconnects in the middle of a body causes no warning", async () => {
  const { options } = await seedDenied(own.client);
  const warnings: Error[] = [];
  const listen = (warning: Error): void => void warnings.push(warning);
  process.on("warning", listen);
  onTestFinished(() => void process.off("warning", listen));
  let asked = 0;
  const authorize = () => {
    asked += 1;
    return { by: "eve", actions: "all" } as const;
  };
  const { port, host, pathname } = new URL(await nodeMount.mount({ ...options, authorize }));
  const socket = connect(Number(port), "127.0.0.1");
  const head = `POST ${pathname}api/subject HTTP/1.1\r\nHost: ${host}\r\nSec-Fetch-Site: same-origin\r\n`;
  socket.write(`${head}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{"subj`);
  await expect.poll(() => asked).toBe(1);
  socket.destroy();
  // The server notices the disconnect before it receives a request of another connection.
  await expect
    .poll(async () => (await api(`http://${host}${pathname}`, "session")).status)
    .toBe(200);
  await setImmediate();
  expect(warnings).toEqual([]);
});

describe("invalid input", () => {
  test.each(TEXTS)("with %j in each field gives 400 or 404, never 500", async (text) => {
    const fleet = createFleet(own.client);
    fleet.make("api", THREE_AN_HOUR);
    await fleet.report();
    const page = await nodeMount.mount({
      store: fleet.store,
      authorize: () => ({ by: "eve", actions: "all" }),
    });
    const encoded = encodeURIComponent(text.toWellFormed());
    for (const path of [`limiter?name=${encoded}`, `overview?span=${encoded}`, `${encoded}`]) {
      expect([400, 404]).toContain((await api(page, path)).status);
    }
    const log = await api(page, `log?before=${encoded}`);
    expect(log.status).toBe(400);
    const reset = { kind: "reset", limiter: "api", subject: { default: "ann" } };
    for (const action of [
      { ...reset, kind: text },
      { ...reset, limiter: text },
      { ...reset, subject: { [text]: "ann" } },
      { ...reset, [text]: 1 },
      { kind: "setOverride", limiter: "api", limits: { [text]: { limit: 1 } }, forMs: null },
      { kind: "setOverride", limiter: "api", limits: { "3-per-1h": { [text]: 1 } }, forMs: null },
      { kind: "addToDenyList", network: text, forMs: null },
      { kind: "breaker", breaker: "b", target: "t", order: text },
    ]) {
      const { status } = await api(page, "preview", { action });
      expect([action, [400, 403, 404].includes(status)]).toEqual([action, true]);
    }
    for (const question of [
      { subject: text, kind: text },
      { subject: text, kind: "address" },
      { subject: "v", kind: "header", header: text },
      { subject: "v", kind: "text", limiter: text },
    ]) {
      const { status } = await api(page, "subject", question);
      // Two of the texts are valid header names.
      expect([question, [200, 400, 404].includes(status)]).toEqual([question, true]);
    }
  });
});
