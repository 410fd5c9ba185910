import { execFileSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import type { IncomingMessage } from "node:http";
import type { Http2ServerRequest } from "node:http2";
import { connect, createSecureServer } from "node:http2";
import { createServer, request } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { json, text } from "node:stream/consumers";
import type { NodeRequest, NodeResponse } from "@headgate/shed";
import { loadShedder } from "@headgate/shed";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { onPath } from "../support/redis-binary.ts";
import { waitUntil } from "../support/wait-until.ts";

const dir = mkdtempSync(join(tmpdir(), "headgate-shed-"));
afterAll(() => rmSync(dir, { recursive: true }));

describe.skipIf(onPath("openssl") === undefined)("over TLS", () => {
  const [keyFile, certFile] = [join(dir, "key"), join(dir, "cert")];
  beforeAll(() => {
    const names = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost"];
    const args = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"];
    execFileSync("openssl", [...args, ...names, "-keyout", keyFile, "-out", certFile], {
      stdio: "ignore",
    });
  });

  type Handle = (req: NodeRequest & AsyncIterable<Buffer>, res: NodeResponse) => void;

  async function serveTls(isHttp2: boolean, handle: Handle) {
    const cert = readFileSync(certFile);
    const options = { key: readFileSync(keyFile), cert };
    const server = isHttp2
      ? createSecureServer(options, handle as never)
      : createServer(options, handle as never);
    server.listen(0, "127.0.0.1");
    await once(server, "listening");
    onTestFinished(() => void server.close());
    const { port } = server.address() as AddressInfo;
    const origin = `https://localhost:${port}`;

    async function sendHttp1(path: string, body: string) {
      const sent = request(`${origin}${path}`, { ca: cert, method: "POST", agent: false });
      sent.end(body);
      const [response] = (await once(sent, "response")) as [IncomingMessage];
      return { status: response.statusCode, body: response as AsyncIterable<Buffer> };
    }

    async function sendHttp2(path: string, body: string) {
      const session = connect(origin, { ca: cert });
      onTestFinished(() => session.destroy());
      const stream = session.request({ ":path": path, ":method": "POST" });
      stream.end(body);
      const [headers] = await once(stream, "response");
      return { status: headers[":status"], body: stream as AsyncIterable<Buffer> };
    }

    return isHttp2 ? sendHttp2 : sendHttp1;
  }

  test.each([
    ["HTTP/1.1", false],
    ["HTTP/2", true],
  ])(
    "%s: a request waits with its body, and one that waits too long is shed",
    async (_, isHttp2) => {
      const shed = loadShedder({
        maxInFlight: 1,
        maxWait: "20ms",
        priority: ({ url }) => (url === "/late" ? "default" : "critical"),
      });
      const started: string[] = [];
      let release = () => {};
      const send = await serveTls(isHttp2, (req, res) =>
        shed(req, res, async () => {
          started.push(String(req.url));
          const body = await text(req as unknown as Http2ServerRequest);
          if (req.url === "/held") release = () => res.end("");
          else res.end(body);
        }),
      );
      const held = send("/held", "");
      await waitUntil("it is handled", 5_000, async () => started[0]);
      const waiting = send("/waiting", "b".repeat(30_000));
      await waitUntil("it waits", 5_000, async () => shed.status().waiting || undefined);
      const late = await send("/late", "text");
      expect(late.status).toBe(503);
      expect(await json(late.body as never)).toMatchObject({ status: 503 });
      expect(started).toEqual(["/held"]);
      release();
      expect((await held).status).toBe(200);
      const answer = await waiting;
      expect(answer.status).toBe(200);
      expect((await text(answer.body as never)).length).toBe(30_000);
      await shed.close();
    },
  );
});
