import { once } from "node:events";
import { fixedWindow, RateLimit } from "@headgate/nestjs";
import type { ArgumentsHost } from "@nestjs/common";
import { Catch, UseFilters } from "@nestjs/common";
import { WsAdapter } from "@nestjs/platform-ws";
import { SubscribeMessage, WebSocketGateway, WsException } from "@nestjs/websockets";
import { expect, onTestFinished, test } from "vitest";
import { WebSocket } from "ws";
import { makeNest } from "./serve-nest.ts";

/** Sends what was thrown, which Nest leaves to applications on plain WebSockets. */
class Sender {
  catch(error: WsException, host: ArgumentsHost): void {
    host
      .switchToWs()
      .getClient<WebSocket>()
      .send(JSON.stringify({ error: error.getError() }));
  }
}
Catch(WsException)(Sender);

test("each message of a gateway is counted, and a denial is an exception of gateways", async () => {
  class Chat {
    say(): object {
      return { event: "said", data: "" };
    }
  }
  const limits = fixedWindow({ limit: 2, window: "1h" });
  const descriptor = Object.getOwnPropertyDescriptor(Chat.prototype, "say") as PropertyDescriptor;
  for (const decorate of [
    SubscribeMessage("say"),
    UseFilters(new Sender()),
    RateLimit({ limits }),
  ]) {
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
  const answers: unknown[] = [];
  for (let i = 0; i < 3; i += 1) {
    client.send(JSON.stringify({ event: "say", data: {} }));
    const [message] = await once(client, "message");
    answers.push(JSON.parse(String(message)));
  }
  expect(answers).toMatchObject([
    { event: "said" },
    { event: "said" },
    {
      error: { code: "RATE_LIMITED", status: 429, retryAfterMs: expect.any(Number) },
    },
  ]);
});
