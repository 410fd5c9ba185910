import { once } from "node:events";
import type { RateLimitOptions } from "@headgate/nestjs";
import { byHeader, fixedWindow, RateLimit } from "@headgate/nestjs";
import type { ArgumentsHost } from "@nestjs/common";
import { Catch, UseFilters } from "@nestjs/common";
import { IoAdapter } from "@nestjs/platform-socket.io";
import { WsAdapter } from "@nestjs/platform-ws";
import { SubscribeMessage, WebSocketGateway, WsException } from "@nestjs/websockets";
import { io } from "socket.io-client";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { recordDecisions } from "../support/record-decisions.ts";
import { decorate, makeNest } from "./serve-nest.ts";

const limits = fixedWindow({ limit: 1, window: "1h" });

/** Sends what was thrown, which Nest leaves to applications on plain WebSockets. */
class Sender {
  catch(error: Error, host: ArgumentsHost): void {
    host
      .switchToWs()
      .getClient<WebSocket>()
      .send(
        JSON.stringify({ error: error instanceof WsException ? error.getError() : error.message }),
      );
  }
}
Catch()(Sender);

/** Serves a gateway until the test ends. Each call sends it a message, and resolves with its answer. */
async function serveGateway(options: RateLimitOptions): Promise<() => Promise<unknown>> {
  class Chat {
    say(): object {
      return { event: "said", data: "" };
    }
  }
  const descriptor = Object.getOwnPropertyDescriptor(Chat.prototype, "say") as PropertyDescriptor;
  for (const decorate of [SubscribeMessage("say"), UseFilters(new Sender()), RateLimit(options)]) {
    decorate(Chat.prototype, "say", descriptor);
  }
  WebSocketGateway()(Chat);
  const app = await makeNest({ providers: [Chat] });
  onTestFinished(() => app.close());
  app.useWebSocketAdapter(new WsAdapter(app));
  await app.listen(0, "127.0.0.1");
  const { port } = app.getHttpServer().address();
  const client = new WebSocket(`ws://127.0.0.1:${port}`);
  await once(client, "open");
  onTestFinished(() => client.terminate());
  return async () => {
    client.send(JSON.stringify({ event: "say", data: {} }));
    const [message] = await once(client, "message");
    return JSON.parse(String(message));
  };
}

test("each message of a gateway is counted, and a denial is a WsException", async () => {
  const say = await serveGateway({ limits });
  expect(await say()).toMatchObject({ event: "said" });
  expect(await say()).toMatchObject({
    error: { code: "RATE_LIMITED", status: 429, retryAfterMs: expect.any(Number) },
  });
});

test("a message of Socket.IO is counted by the address and the headers of its handshake", async () => {
  class Chat {
    byAddress(): string {
      return "said";
    }
    byUser(): string {
      return "said";
    }
  }
  decorate(Chat, "byAddress", RateLimit({ limits }), SubscribeMessage("byAddress"));
  const byUser = { limits, key: byHeader("x-user"), missingKey: "reject" } as const;
  decorate(Chat, "byUser", RateLimit(byUser), SubscribeMessage("byUser"));
  WebSocketGateway()(Chat);
  const published = recordDecisions();
  const app = await makeNest({ providers: [Chat] });
  onTestFinished(() => app.close());
  app.useWebSocketAdapter(new IoAdapter(app));
  await app.listen(0, "127.0.0.1");
  const { port } = app.getHttpServer().address();
  const say = async (event: string, user: string): Promise<unknown> => {
    const client = io(`http://127.0.0.1:${port}`, {
      extraHeaders: { "x-user": user },
      forceNew: true,
    });
    onTestFinished(() => void client.disconnect());
    return new Promise((resolve) => {
      client.on("exception", ({ code }) => resolve(code));
      client.emit(event, {}, resolve);
    });
  };
  expect([await say("byAddress", "ada"), await say("byAddress", "grace")]).toEqual([
    "said",
    "RATE_LIMITED",
  ]);
  expect(published[0]?.subject).toEqual({ default: "127.0.0.1" });
  expect([
    await say("byUser", "ada"),
    await say("byUser", "grace"),
    await say("byUser", "ada"),
  ]).toEqual(["said", "said", "RATE_LIMITED"]);
});

test('onDenied may allow, deny or throw for a message, and only "allow" is published as allowed', async () => {
  const heard = recordDecisions();
  const outcomes = [
    () => "allow",
    async () => "allow",
    () => "allowed",
    () => {},
    () => {
      throw new Error("an own one");
    },
    () => Promise.reject("no error"),
  ];
  const say = await serveGateway({ limits, onDenied: () => outcomes.shift()?.() });
  await say();
  const denied = { error: { code: "RATE_LIMITED" } };
  expect([
    await say(),
    await say(),
    await say(),
    await say(),
    await say(),
    await say(),
  ]).toMatchObject([
    { event: "said" },
    { event: "said" },
    denied,
    denied,
    { error: "an own one" },
    { error: expect.stringContaining("a string, which is not an Error") },
  ]);
  const published = heard.map(({ decision, allowedByOnDenied }) => [
    decision.allowed,
    allowedByOnDenied,
  ]);
  const refused = [false, undefined];
  expect(published).toEqual([
    [true, undefined],
    [false, true],
    [false, true],
    refused,
    refused,
    refused,
    refused,
  ]);
});
