import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTransport } from "@modelcontextprotocol/sdk/inMemory.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import { beforeEach, expect, onTestFinished, test } from "vitest";
import { connectLimited } from "../../examples/mcp-tools/limit-tools.ts";
import { createApp } from "../../examples/mcp-tools/server.ts";
import { page } from "../docs/markdown.ts";
import { useLongStoreTimeout } from "../support/long-store-timeout.ts";
import { useOwnDatabase } from "../support/own-database.ts";
import { serve } from "../support/serve.ts";

useLongStoreTimeout();

const redis = useOwnDatabase();

let url: string;
beforeEach(async () => {
  const now = Date.UTC(2030, 0, 1);
  const store = redisStore(redis, { prefix: `mcp-${Math.random()}`, clock: () => now });
  const expiresAt = Date.now() / 1_000 + 3_600;
  const verify = async (token: string) => ({ token, clientId: token, scopes: [], expiresAt });
  url = `${await serve(createApp(store, verify))}/mcp`;
});

async function connect(token: string): Promise<Client> {
  const client = new Client({ name: "test", version: "1.0.0" });
  const requestInit = { headers: { authorization: `Bearer ${token}` } };
  const transport = new StreamableHTTPClientTransport(new URL(url), { requestInit });
  await client.connect(transport as Transport);
  onTestFinished(() => client.close());
  return client;
}

const denied = (retryAfterSeconds: number) => ({
  code: -32_029,
  message: `MCP error -32029: Too many calls. Try again in ${retryAfterSeconds} s.`,
  data: { retryAfterSeconds },
});

test("each tool has its cost, and a denied call has the time to retry", async () => {
  const ada = await connect("ada");
  for (let i = 0; i < 2; i += 1) {
    expect(await ada.callTool({ name: "report" })).toMatchObject({
      content: [{ type: "text", text: "1.05 1.07 1.08" }],
    });
  }
  for (let i = 0; i < 5; i += 1) await ada.callTool({ name: "rate" });
  // Five of thirty are left.
  await expect(ada.callTool({ name: "report" })).rejects.toMatchObject(denied(10));
  for (let i = 0; i < 5; i += 1) await ada.callTool({ name: "rate" });
  await expect(ada.callTool({ name: "rate" })).rejects.toMatchObject(denied(2));
});

test("each client has one count for all its connections", async () => {
  for (let i = 0; i < 3; i += 1) await (await connect("ada")).callTool({ name: "report" });
  await expect((await connect("ada")).callTool({ name: "rate" })).rejects.toMatchObject(denied(2));
  const grace = await connect("grace");
  expect(await grace.callTool({ name: "rate" })).toHaveProperty("content");
});

test("other requests cost nothing, and tools that do not exist cost a unit", async () => {
  const ada = await connect("ada");
  for (let i = 0; i < 40; i += 1) {
    const { tools } = await ada.listTools();
    expect(tools.map(({ name }) => name)).toEqual(["rate", "report"]);
  }
  const errors = Array.from({ length: 30 }, () => ada.callTool({ name: "made-up" }));
  for (const answer of await Promise.allSettled(errors)) {
    expect(JSON.stringify(answer)).toContain("made-up not found");
  }
  await expect(ada.callTool({ name: "made-up" })).rejects.toMatchObject(denied(2));
});

test("a request without a token is not counted", async () => {
  const answer = await fetch(url, { method: "POST", body: "{}" });
  expect(answer.status).toBe(401);
});

test("the response equals the one on the page, also for calls in a batch", async () => {
  const ada = await connect("ada");
  for (let i = 0; i < 3; i += 1) await ada.callTool({ name: "report" });
  const call = (id: number) => ({
    jsonrpc: "2.0",
    id,
    method: "tools/call",
    params: { name: "report", arguments: {} },
  });
  const send = async (body: object) => {
    const headers = {
      authorization: "Bearer ada",
      "content-type": "application/json",
      accept: "application/json, text/event-stream",
    };
    const answer = await fetch(url, { method: "POST", headers, body: JSON.stringify(body) });
    return answer.json();
  };
  const shown = page("docs/recipes/mcp-tools.md").blocks.find(
    ({ language }) => language === "json",
  );
  expect(await send(call(7))).toEqual(JSON.parse(String(shown?.text)));
  expect(await send([call(8), call(9)])).toMatchObject([
    { id: 8, error: { code: -32_029 } },
    { id: 9, error: { code: -32_029 } },
  ]);
});

test("the same limit holds on any other transport", async () => {
  const [ours, theirs] = InMemoryTransport.createLinkedPair();
  const server = new McpServer({ name: "any", version: "1.0.0" });
  server.registerTool("rate", {}, () => ({ content: [] }));
  const store = redisStore(redis, { prefix: `mcp-${Math.random()}` });
  const limiter = createLimiter({ store, name: "tools", limits: gcra({ limit: 1, window: "1h" }) });
  await connectLimited(server, ours, (tool) => limiter.consume(tool));
  const client = new Client({ name: "test", version: "1.0.0" });
  await client.connect(theirs);
  onTestFinished(() => client.close());
  await client.callTool({ name: "rate" });
  await expect(client.callTool({ name: "rate" })).rejects.toMatchObject({ code: -32_029 });
});
