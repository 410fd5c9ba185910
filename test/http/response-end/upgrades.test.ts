import type { IncomingMessage } from "node:http";
import { createServer, ServerResponse } from "node:http";
import type { AddressInfo, Socket } from "node:net";
import { connect } from "node:net";
import { concurrency, createLimiter, memoryStore } from "@headgate/core";
import type { Verdict } from "@headgate/core/http";
import { clientOf, createHttpGuard } from "@headgate/core/http";
import { expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { manualClock } from "../support/manual-clock.ts";

/** As @fastify/websocket and others route an upgrade: through a response that may never answer. */
test.each([true, false])(
  "an upgraded connection holds its slot until it closes; its response has the socket: %s",
  async (isAssigned) => {
    const clock = manualClock();
    const limiter = createLimiter({
      name: "sockets",
      limits: concurrency({ limit: 2, ttl: "1m" }),
      store: memoryStore({ clock: clock.now }),
    });
    const remaining = async () => (await limiter.peek("everybody", { cost: 0 })).remaining;
    const guard = createHttpGuard<IncomingMessage>(
      "upgrade",
      { limiter, key: () => "everybody" },
      { passesResponse: true },
    );
    const verdicts: Verdict[] = [];
    const server = createServer();
    const accept = async (request: IncomingMessage, socket: Socket): Promise<void> => {
      const response = new ServerResponse(request);
      if (isAssigned) response.assignSocket(socket);
      socket.on("error", () => {}).resume();
      const client = clientOf(socket.remoteAddress, request);
      verdicts.push(await guard.check(request, client, response));
      socket.write("HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    };
    server.on("upgrade", (request: IncomingMessage, socket: Socket) => {
      void accept(request, socket);
    });
    server.listen(0, "127.0.0.1");
    onTestFinished(() => {
      server.close();
    });
    await eventually(() => expect(server.listening).toBe(true));
    const socket = connect((server.address() as AddressInfo).port, "127.0.0.1");
    socket.on("error", () => {});
    socket.write("GET / HTTP/1.1\r\nHost: here\r\nConnection: Upgrade\r\nUpgrade: x\r\n\r\n");
    await eventually(() => expect(verdicts).toHaveLength(1));
    const [verdict] = verdicts;
    const signal = verdict?.kind === "allowed" ? verdict.decision.signal : undefined;
    expect(signal?.aborted).toBe(false);
    socket.resetAndDestroy();
    await eventually(() => expect(signal?.aborted).toBe(true));
    expect(await remaining()).toBe(1);
    clock.advance(60_000);
    expect(await remaining()).toBe(2);
  },
);
