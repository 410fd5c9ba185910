import type { ClientHttp2Session, IncomingHttpHeaders, IncomingHttpStatusHeader } from "node:http2";
import { connect } from "node:http2";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";
import headgate, { gcra } from "@headgate/fastify";
import type { FastifyRequest } from "fastify";
import Fastify from "fastify";
import { expect, onTestFinished, test } from "vitest";
import { deferred } from "../support/deferred.ts";
import { secondsLeft } from "../support/seconds-left.ts";
import { watchUnhandled } from "../support/unhandled.ts";

/** Any request: the plugin's types are those of HTTP/1, and what is read here is the same. */
type Key = (request: FastifyRequest) => Promise<string>;

/** An application that speaks HTTP/2 without TLS, and a client of it. */
async function serving(key?: Key): Promise<ClientHttp2Session> {
  const app = Fastify({ http2: true });
  app.register(headgate, { limits: gcra({ limit: 2, window: "1h", name: "two" }), key });
  app.get("/", async () => "ok");
  app.get(
    "/own",
    { config: { rateLimit: { limits: gcra({ limit: 1, window: "1h", name: "own" }) } } },
    async () => "own",
  );
  await app.listen({ host: "127.0.0.1", port: 0 });
  const { port } = app.server.address() as AddressInfo;
  const client = connect(`http://127.0.0.1:${port}`);
  onTestFinished(async () => {
    client.destroy();
    await app.close();
  });
  return client;
}

function sendRequest(client: ClientHttp2Session, path: string) {
  return new Promise<{ headers: IncomingHttpHeaders & IncomingHttpStatusHeader; body: string }>(
    (resolve, reject) => {
      const stream = client.request({ ":path": path });
      stream.once("error", reject);
      stream.once("response", (headers) => {
        text(stream).then((body) => resolve({ headers, body }), reject);
      });
    },
  );
}

test("requests are limited over HTTP/2, each stream separately", async () => {
  const client = await serving();
  const answers = await Promise.all([1, 2, 3].map(() => sendRequest(client, "/")));
  expect(answers.map(({ headers }) => headers[":status"]).sort()).toEqual([200, 200, 429]);
  const denied = answers.find(({ headers }) => headers[":status"] === 429);
  expect(denied?.headers).toMatchObject({
    "content-type": "application/problem+json",
    "retry-after": secondsLeft(1_800),
    "x-ratelimit-remaining": "0",
  });
  expect(denied?.headers["ratelimit"]).toMatch(/^"two";r=0;/);
  expect(JSON.parse(denied?.body ?? "")).toMatchObject({ "violated-policies": ["two"] });
});

test("routes have their limits over HTTP/2", async () => {
  const client = await serving();
  expect((await sendRequest(client, "/own")).headers["ratelimit"]).toMatch(/^"own";r=0;/);
  expect((await sendRequest(client, "/own")).headers[":status"]).toBe(429);
  expect((await sendRequest(client, "/")).headers[":status"]).toBe(200);
});

test("a stream that is reset while its key is read causes no error", async () => {
  const settled = watchUnhandled();
  const entered = deferred<FastifyRequest>();
  const gone = deferred();
  const client = await serving(async (request) => {
    entered.resolve(request);
    await gone.promise;
    return "ann";
  });
  const stream = client.request({ ":path": "/" });
  stream.on("error", () => {});
  const request = await entered.promise;
  const closed = new Promise((resolve) => request.raw.once("close", resolve));
  stream.close(8);
  await closed;
  gone.resolve();
  await settled();
  expect([200, 429]).toContain((await sendRequest(client, "/")).headers[":status"]);
});
