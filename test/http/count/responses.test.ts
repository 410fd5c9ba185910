import { once } from "node:events";
import type { IncomingMessage, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import { Readable } from "node:stream";
import { setImmediate } from "node:timers/promises";
import type { CountOption } from "@headgate/core/http";
import { rateLimit } from "@headgate/express";
import headgate from "@headgate/fastify";
import express from "express";
import express4 from "express4";
import Fastify from "fastify";
import { describe, expect, onTestFinished, test } from "vitest";
import { start } from "../fastify/start-fastify.ts";
import { deferred } from "../support/deferred.ts";
import { listen } from "../support/listen.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import type { CountedLimiter } from "./stores.ts";
import { useStores } from "./stores.ts";

/** Answers with Node's own means. */
type Handle = (req: IncomingMessage, res: ServerResponse) => void;

type Count = Extract<CountOption<object, never>, string> | (() => boolean | number);

/** Serves one handler on every path behind a limiter; resolves with the port. */
type Serve = (counted: CountedLimiter, count: Count, handle: Handle) => Promise<number>;

function onExpress(makeApp: typeof express): Serve {
  return async ({ limiter }, count, handle) => {
    const app = makeApp();
    app.use(rateLimit({ limiter, count, allowList: () => false }));
    app.use((req, res) => handle(req, res));
    return ((await listen(app)).address() as AddressInfo).port;
  };
}

/** The handler takes the reply over. */
const onFastify: Serve = async ({ limiter }, count, handle) => {
  const app = Fastify({ forceCloseConnections: true });
  // Its own would read the body first.
  app.removeAllContentTypeParsers();
  app.addContentTypeParser("*", (_request, _payload, done) => done(null));
  app.register(headgate, { limiter, count });
  app.route({
    method: ["GET", "POST"],
    url: "/*",
    handler(request, reply) {
      reply.hijack();
      handle(request.raw, reply.raw);
    },
  });
  await start(app);
  return (app.addresses()[0] as AddressInfo).port;
};

const GET = "GET / HTTP/1.1\r\nHost: here\r\n\r\n";

/** A client that sends bytes as they are. */
function clientAt(port: number): Socket & { seen(pattern: RegExp): Promise<string> } {
  const socket = connect(port, "127.0.0.1");
  socket.on("error", () => {});
  onTestFinished(() => {
    socket.destroy();
  });
  let text = "";
  socket.on("data", (bytes) => {
    text += bytes;
  });
  return Object.assign(socket, {
    async seen(pattern: RegExp): Promise<string> {
      while (!pattern.test(text)) await once(socket, "data");
      return text;
    },
  }) as never;
}

describe.each([
  ["Express 4", onExpress(express4)],
  ["Express 5", onExpress(express)],
  ["Fastify", onFastify],
])("%s", (_, serve) => {
  describe.each(useStores())("with counts in $name", (kind) => {
    /** Where nothing that is answered counts, so that what counts was not answered. */
    async function serving(handle: Handle) {
      const counted = kind.count(50);
      const expectNothingUnhandled = watchUnhandled();
      const closed = deferred();
      const entered = deferred<ServerResponse>();
      const port = await serve(
        counted,
        () => false,
        (req, res) => {
          res.once("close", () => closed.resolve());
          handle(req, res);
          entered.resolve(res);
        },
      );
      const client = clientAt(port);
      return {
        ...counted,
        client,
        entered: entered.promise,
        closed: closed.promise,
        expectNothingUnhandled,
      };
    }

    test.each<[string, Handle]>([
      ["ended at once", (_req, res) => res.end("ok")],
      ["without a body", (_req, res) => res.writeHead(204).end()],
      [
        "written in parts",
        (_req, res) => {
          res.write("o");
          void setImmediate().then(() => res.end("k"));
        },
      ],
      ["of a pipe", (_req, res) => Readable.from(["o", "k"]).pipe(res)],
      ["a megabyte", (_req, res) => res.end(Buffer.alloc(1 << 20, "x"))],
      [
        "after early hints",
        (_req, res) => {
          res.writeEarlyHints({ link: "</a.css>; rel=preload" });
          res.writeProcessing();
          void setImmediate().then(() => res.end("ok"));
        },
      ],
    ])("a complete response is settled by its status: %s", async (_, handle) => {
      const { client, closed, used, expectNothingUnhandled } = await serving(handle);
      client.write(GET);
      await closed;
      expect(await used()).toBe(0);
      await expectNothingUnhandled();
    });

    test("the final status of a response counts", async () => {
      const counted = kind.count(50);
      const port = await serve(counted, "failed", (_req, res) => {
        res.writeContinue();
        res.writeEarlyHints({ link: "</a.css>; rel=preload" });
        res.writeHead(Number(_req.url?.slice(1))).end();
      });
      const statuses = [200, 304, 399, 400, 401, 500];
      const client = clientAt(port);
      for (const status of statuses) {
        const before = await counted.used();
        client.write(GET.replace("/ ", `/${status} `));
        await client.seen(new RegExp(`HTTP/1.1 ${status} `));
        expect([status, (await counted.used()) - before]).toEqual([status, status < 400 ? 0 : 1]);
      }
    });

    test("pipelined requests of one connection are settled separately", async () => {
      const counted = kind.count(50);
      const port = await serve(counted, "failed", (req, res) => {
        res.statusCode = req.url === "/wrong" ? 401 : 200;
        void setImmediate().then(() => res.end(`${req.url}.`));
      });
      const client = clientAt(port);
      const wrong = GET.replace("/ ", "/wrong ");
      client.write(GET + wrong + GET + wrong + wrong + GET.replace("/ ", "/last "));
      await client.seen(/\/last\./);
      expect(await counted.used()).toBe(3);
    });

    test("a request whose client disconnects before the response stays charged", async () => {
      const { client, entered, closed, used, expectNothingUnhandled } = await serving(() => {});
      client.write(GET);
      const res = await entered;
      client.destroy();
      await closed;
      res.end("too late");
      await setImmediate();
      expect(await used()).toBe(1);
      await expectNothingUnhandled();
    });

    test("a request whose client disconnects in the middle of the response stays charged", async () => {
      const { client, entered, closed, used } = await serving((_req, res) => res.write("part"));
      client.write(GET);
      const res = await entered;
      await client.seen(/part/);
      client.resetAndDestroy();
      await closed;
      res.end();
      expect(await used()).toBe(1);
    });

    test.each<[string, (client: Socket) => void]>([
      ["closes", (client) => client.destroy()],
      ["resets", (client) => client.resetAndDestroy()],
      ["ends, and then resets,", (client) => client.end(() => client.resetAndDestroy())],
    ])(
      "a request whose client %s a connection with more data than it can hold stays charged",
      async (_, leave) => {
        const { client, entered, closed, used } = await serving((_req, res) =>
          res.end(Buffer.alloc(1 << 26)),
        );
        client.pause();
        client.write(GET);
        await entered;
        leave(client);
        await closed;
        expect(await used()).toBe(1);
      },
    );

    test("a request whose client disconnects in the middle of its upload stays charged", async () => {
      const { client, entered, closed, used } = await serving((req, res) => {
        req.on("error", () => {});
        req.resume().on("end", () => res.end("whole"));
      });
      client.write(
        "POST / HTTP/1.1\r\nHost: here\r\nContent-Type: text/x\r\nContent-Length: 10\r\n\r\nabc",
      );
      await entered;
      client.destroy();
      await closed;
      expect(await used()).toBe(1);
    });

    test("a request whose response the server aborts stays charged", async () => {
      for (const breakOff of [
        (res: ServerResponse) => res.destroy(),
        (res: ServerResponse) => res.destroy(new Error("a bug")),
        (res: ServerResponse) => res.socket?.destroy(),
        (res: ServerResponse) => {
          const { socket } = res;
          res.end(Buffer.alloc(1 << 26));
          socket?.destroy();
        },
      ]) {
        const { client, closed, used } = await serving((_req, res) => {
          res.write("part");
          void setImmediate().then(() => breakOff(res));
        });
        client.write(GET);
        await closed;
        expect(await used()).toBe(1);
      }
    });
  });
});
