import { AsyncLocalStorage } from "node:async_hooks";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { once } from "node:events";
import { createServer } from "node:http";
import { connect as connectHttp2, createServer as createHttp2Server } from "node:http2";
import type { AddressInfo } from "node:net";
import { connect } from "node:net";
import { text } from "node:stream/consumers";
import { promisify } from "node:util";
import type { LoadShedder, LoadStatus, NodeRequest, ShedRequest } from "@headgate/shed";
import { loadShedder, SHED_CHANNELS } from "@headgate/shed";
import { describe, expect, onTestFinished, test } from "vitest";
import { serve } from "../support/serve.ts";
import { waitUntil } from "../support/wait-until.ts";

/** A server that handles one request at a time, each until it is released by its path. */
async function serveHeld(shed: LoadShedder) {
  const started: string[] = [];
  const held = new Map<string, () => void>();
  const server = createServer((req, res) =>
    shed(req, res, () => {
      started.push(String(req.url));
      held.set(String(req.url), () => res.end(`answer to ${req.url}\n`));
    }),
  );
  const url = await serve(server);
  onTestFinished(async () => {
    await shed.close();
  });
  return {
    server,
    port: Number(new URL(url).port),
    started,
    release: (path: string) => held.get(path)?.(),
    isStarted: (path: string) =>
      waitUntil(`${path} is handled`, 5_000, async () => started.includes(path) || undefined),
    areWaiting: (count: number) =>
      waitUntil(`${count} wait`, 5_000, async () => shed.status().waiting === count || undefined),
  };
}

const get = (path: string): string => `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`;

describe("on HTTP/1.1", () => {
  test("pipelined requests are answered in their order", async () => {
    const site = await serveHeld(loadShedder({ maxInFlight: 1, maxWait: "1m" }));
    const socket = connect(site.port, "127.0.0.1");
    socket.write(get("/1") + get("/2") + get("/3"));
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    for (const path of ["/1", "/2", "/3"]) {
      await site.isStarted(path);
      expect(site.started.at(-1)).toBe(path);
      site.release(path);
    }
    await waitUntil("all are answered", 5_000, async () => received.includes("to /3") || undefined);
    expect(received.match(/answer to \S+/g)).toEqual([
      "answer to /1",
      "answer to /2",
      "answer to /3",
    ]);
    socket.destroy();
  });

  test("requests of a client that has disconnected are not handled, and keep no other from it", async () => {
    const shed = loadShedder({ maxInFlight: 1, maxWait: "1m" });
    const site = await serveHeld(shed);
    const staying = connect(site.port, "127.0.0.1");
    staying.write(get("/held"));
    await site.isStarted("/held");
    // Two of these responses would wait for the turn of the first: Node reports no end of them.
    const leaving = connect(site.port, "127.0.0.1");
    leaving.write(get("/1") + get("/2") + get("/3"));
    await site.areWaiting(3);
    leaving.destroy();
    await waitUntil("the server has noticed", 5_000, async () => {
      const count = await promisify(site.server.getConnections).call(site.server);
      return count === 1 || undefined;
    });
    const other = connect(site.port, "127.0.0.1");
    other.write(get("/other"));
    site.release("/held");
    await site.isStarted("/other");
    expect(site.started).toEqual(["/held", "/other"]);
    staying.destroy();
    other.destroy();
  });

  test("a handler whose pipelined response can never be sent frees its slot, and once only when it ends later", async () => {
    const site = await serveHeld(loadShedder({ maxInFlight: 2, maxWait: "1m" }));
    const leaving = connect(site.port, "127.0.0.1");
    leaving.write(get("/1") + get("/2"));
    await site.isStarted("/2");
    leaving.destroy();
    const other = connect(site.port, "127.0.0.1");
    other.write(get("/other"));
    await site.isStarted("/other");
    site.release("/1");
    site.release("/2");
    other.write(get("/second") + get("/third"));
    await site.isStarted("/second");
    await site.areWaiting(1);
    other.destroy();
  });

  test("a pipelined response that waits for an earlier request in line keeps no slot from it", async () => {
    const priority = ({ url }: NodeRequest) => (url === "/first" ? "critical" : "default");
    const site = await serveHeld(loadShedder({ maxInFlight: 1, maxWait: "1m", priority }));
    const other = connect(site.port, "127.0.0.1");
    other.write(get("/held"));
    await site.isStarted("/held");
    const socket = connect(site.port, "127.0.0.1");
    socket.write(get("/last") + get("/first"));
    await site.areWaiting(2);
    site.release("/held");
    await site.isStarted("/first");
    site.release("/first");
    await site.isStarted("/last");
    site.release("/last");
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    await waitUntil(
      "both are answered",
      5_000,
      async () => received.includes("/first") || undefined,
    );
    expect(received.match(/answer to \S+/g)).toEqual(["answer to /last", "answer to /first"]);
    socket.destroy();
    other.destroy();
  });

  test("a request that expects 100 Continue gets it while it waits, and has its body", async () => {
    const shed = loadShedder({ maxInFlight: 1, maxWait: "1m" });
    const bodies: string[] = [];
    let release = () => {};
    const url = await serve(
      createServer((req, res) =>
        shed(req, res, async () => {
          bodies.push(await text(req));
          release = () => res.end("done\n");
        }),
      ),
    );
    onTestFinished(() => shed.close());
    const port = Number(new URL(url).port);
    const first = connect(port, "127.0.0.1");
    first.write(get("/"));
    await waitUntil("the first is handled", 5_000, async () => bodies.length === 1 || undefined);
    const socket = connect(port, "127.0.0.1");
    let received = "";
    socket.on("data", (chunk) => {
      received += chunk;
    });
    socket.write("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nExpect: 100-continue\r\n\r\n");
    await waitUntil("it may go on", 5_000, async () => received.includes("100 C") || undefined);
    expect(shed.status().waiting).toBe(1);
    socket.write("body");
    release();
    await waitUntil("it is handled", 5_000, async () => bodies.length === 2 || undefined);
    release();
    await waitUntil("it is answered", 5_000, async () => received.includes("done") || undefined);
    expect(bodies).toEqual(["", "body"]);
    first.destroy();
    socket.destroy();
  });

  test("an upgrade is not touched", async () => {
    const shed = loadShedder({ maxInFlight: 1, maxWait: "1m" });
    const site = await serveHeld(shed);
    site.server.on("upgrade", (_req, socket) => {
      socket.end("HTTP/1.1 101 Switching Protocols\r\n\r\nupgraded");
    });
    const first = connect(site.port, "127.0.0.1");
    first.write(get("/held"));
    await site.isStarted("/held");
    const socket = connect(site.port, "127.0.0.1");
    socket.write("GET /ws HTTP/1.1\r\nHost: x\r\nConnection: Upgrade\r\nUpgrade: any\r\n\r\n");
    expect(await text(socket)).toMatch(/101.*upgraded/s);
    first.destroy();
  });
});

describe("on HTTP/2", () => {
  async function serveHttp2(shed: LoadShedder) {
    const started: string[] = [];
    const server = createHttp2Server((req, res) =>
      shed(req, res, async () => {
        started.push(req.url);
        const body = await text(req);
        if (req.url !== "/held") res.end(`${req.url} ${body}`);
      }),
    );
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const session = connectHttp2(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    onTestFinished(async () => {
      session.destroy();
      server.close();
      await shed.close();
    });
    const send = (path: string, body = "") => {
      const stream = session.request({ ":path": path, ":method": "POST" });
      stream.end(body);
      const status = once(stream, "response").then(([headers]) => headers[":status"]);
      return { stream, status };
    };
    return { send, started };
  }

  test("a stream that waited has its body, and one that is reset is not handled", async () => {
    const shed = loadShedder({ maxInFlight: 1, maxWait: "1m" });
    const { send, started } = await serveHttp2(shed);
    const held = send("/held");
    held.status.catch(() => {});
    await waitUntil("it is handled", 5_000, async () => started[0]);
    const reset = send("/reset", "unread");
    reset.status.catch(() => {});
    const last = send("/last", "b".repeat(30_000));
    await waitUntil("both wait", 5_000, async () => shed.status().waiting === 2 || undefined);
    reset.stream.on("error", () => {});
    reset.stream.close(8);
    await once(reset.stream, "close");
    // A round trip, after which the server knows.
    await new Promise((resolve) => last.stream.session?.ping(resolve));
    held.stream.on("error", () => {});
    held.stream.close(8);
    expect(await last.status).toBe(200);
    expect((await text(last.stream)).length).toBe("/last ".length + 30_000);
    expect(started).toEqual(["/held", "/last"]);
  });

  test("a stream that waited too long gets status 503", async () => {
    const priority = ({ url }: NodeRequest) => (url === "/late" ? "default" : "critical");
    const shed = loadShedder({ maxInFlight: 1, maxWait: "20ms", priority });
    const { send, started } = await serveHttp2(shed);
    send("/held").status.catch(() => {});
    await waitUntil("it is handled", 5_000, async () => started[0]);
    const { stream, status } = send("/late");
    expect(await status).toBe(503);
    expect(JSON.parse(await text(stream))).toMatchObject({ status: 503 });
  });
});

describe("published messages", () => {
  test("name the request that was shed and why, and the load of the process", async () => {
    const requests: ShedRequest[] = [];
    const loads: LoadStatus[] = [];
    const onRequest = (message: unknown): void => void requests.push(message as ShedRequest);
    const onLoad = (message: unknown): void => {
      // Those of other tests are not calm yet.
      if ((message as LoadStatus).shedder === "shop") loads.push(message as LoadStatus);
    };
    subscribe(SHED_CHANNELS.request, onRequest);
    subscribe(SHED_CHANNELS.load, onLoad);
    onTestFinished(() => {
      unsubscribe(SHED_CHANNELS.request, onRequest);
      unsubscribe(SHED_CHANNELS.load, onLoad);
    });
    const shed = loadShedder({
      name: "shop",
      maxInFlight: 1,
      maxWait: "50ms",
      subject: ({ headers }) => String(headers["x-tenant"]),
      priority: ({ url }) => (url === "/late" ? "sheddable" : "critical"),
    });
    const site = await serveHeld(shed);
    const before = Date.now();
    const held = connect(site.port, "127.0.0.1");
    held.write(get("/held"));
    await site.isStarted("/held");
    const response = await fetch(`http://127.0.0.1:${site.port}/late`, {
      headers: { "x-tenant": "ada" },
    });
    expect(response.status).toBe(503);
    expect(requests).toEqual([
      {
        shedder: "shop",
        priority: "sheddable",
        subject: "ada",
        reason: "wait",
        waitMs: expect.any(Number),
        limitMs: 20,
        dryRun: false,
        request: expect.objectContaining({ url: "/late" }),
      },
    ]);
    expect(requests[0]?.waitMs).toBeGreaterThanOrEqual(20);
    const shedding = loads.find(({ state }) => state === "shedding");
    expect(shedding).toMatchObject({ shedder: "shop", before: "busy", shed: 1, limitMs: 50 });
    expect(shedding?.since).toBeGreaterThanOrEqual(before);
    expect(shed.status()).toMatchObject({ state: "shedding", since: shedding?.since });
    held.destroy();
    await waitUntil("all is calm", 10_000, async () =>
      loads.at(-1)?.state === "calm" ? true : undefined,
    );
  });
});

test("who learns that a request was shed is in its async context, and who learns of the load in that of no request", async () => {
  const context = new AsyncLocalStorage<string>();
  const shedIn: unknown[] = [];
  const loadIn: unknown[] = [];
  const onRequest = (): void => void shedIn.push(context.getStore());
  const onLoad = (message: unknown): void => {
    if ((message as LoadStatus).shedder === "contexts") loadIn.push(context.getStore());
  };
  subscribe(SHED_CHANNELS.request, onRequest);
  subscribe(SHED_CHANNELS.load, onLoad);
  onTestFinished(() => {
    unsubscribe(SHED_CHANNELS.request, onRequest);
    unsubscribe(SHED_CHANNELS.load, onLoad);
  });
  const shed = loadShedder({
    name: "contexts",
    maxInFlight: 1,
    maxWait: "20ms",
    priority: ({ url }) => (url === "/held" ? "critical" : "default"),
  });
  let isHeld = false;
  const url = await serve(
    createServer((req, res) =>
      context.run(String(req.url), () =>
        shed(req, res, () => {
          isHeld = true;
        }),
      ),
    ),
  );
  const { port } = new URL(url);
  const held = connect(Number(port), "127.0.0.1");
  held.write(get("/held"));
  await waitUntil("it is handled", 5_000, async () => isHeld || undefined);
  const responses = await Promise.all(["/1", "/2", "/3"].map((path) => fetch(`${url}${path}`)));
  expect(responses.map(({ status }) => status)).toEqual([503, 503, 503]);
  expect(shedIn.toSorted()).toEqual(["/1", "/2", "/3"]);
  expect(loadIn.length).toBeGreaterThan(1);
  expect(new Set(loadIn)).toEqual(new Set([undefined]));
  held.destroy();
  await shed.close();
});

test("a server that is closed is forgotten, and watched again when it listens again", async () => {
  const shed = loadShedder();
  const server = createServer((req, res) => shed(req, res, () => res.end()));
  const listeners = () => server.listenerCount("connection") + server.listenerCount("close");
  const before = listeners();
  for (let round = 0; round < 2; round += 1) {
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    const { port } = server.address() as AddressInfo;
    await fetch(`http://127.0.0.1:${port}`, { headers: { connection: "close" } });
    expect(listeners()).toBe(before + 2);
    server.close();
    await once(server, "close");
    expect(listeners()).toBe(before);
  }
  await shed.close();
});

test("close resolves when those in line have been handled, leaves no listener, and rejects options", async () => {
  const shed = loadShedder({ maxInFlight: 1, maxWait: "1m" });
  const site = await serveHeld(shed);
  const socket = connect(site.port, "127.0.0.1");
  socket.write(get("/1"));
  await site.isStarted("/1");
  const other = connect(site.port, "127.0.0.1");
  other.write(get("/2"));
  await site.areWaiting(1);
  const listeners = () =>
    site.server.listenerCount("connection") + site.server.listenerCount("close");
  const before = listeners();
  await shed.close();
  expect(site.started).toEqual(["/1", "/2"]);
  expect(listeners()).toBe(before - 2);
  expect(() => shed.close({ timeout: 1 })).toThrow(
    expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
  );
  socket.destroy();
  other.destroy();
});
