// An MCP server over HTTP, whose tools cost what they cost you: docs/recipes/mcp-tools.md says more.

import type { Store } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import { redisStore } from "@headgate/core/redis";
import { requireBearerAuth } from "@modelcontextprotocol/sdk/server/auth/middleware/bearerAuth.js";
import { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import { StreamableHTTPServerTransport } from "@modelcontextprotocol/sdk/server/streamableHttp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type { Express } from "express";
import express from "express";
import { Redis } from "ioredis";
import type { Decide } from "./limit-tools.ts";
import { connectLimited } from "./limit-tools.ts";

/** Units of a call; 1 for other tools, and for those that do not exist. */
const COSTS = new Map([["report", 10]]);

function createServer(): McpServer {
  const server = new McpServer({ name: "figures", version: "1.0.0" });
  server.registerTool("rate", { description: "The rate of today." }, () => ({
    content: [{ type: "text", text: "1.08" }],
  }));
  server.registerTool("report", { description: "All rates of a year." }, () => ({
    content: [{ type: "text", text: "1.05 1.07 1.08" }],
  }));
  return server;
}

/** `verifyAccessToken` finds the client of a token, and rejects for one that is not valid. */
export function createApp(
  store: Store,
  verifyAccessToken: Parameters<typeof requireBearerAuth>[0]["verifier"]["verifyAccessToken"],
): Express {
  // #region decide
  const calls = createLimiter({
    name: "tools",
    store,
    limits: gcra({ limit: 30, window: "1m" }),
  });
  const decide: Decide = (tool, extra) =>
    calls.consume(String(extra?.authInfo?.clientId), { cost: COSTS.get(tool) ?? 1 });
  // #endregion

  const app = express();
  const authorise = requireBearerAuth({ verifier: { verifyAccessToken } });

  app.post("/mcp", authorise, express.json(), async (req, res) => {
    const server = createServer();
    const transport = new StreamableHTTPServerTransport({ enableJsonResponse: true });
    res.on("close", () => void server.close());
    await connectLimited(server, transport as Transport, decide);
    await transport.handleRequest(req, res, req.body);
  });

  return app;
}

// Started as a program, not imported by a test.
if (process.argv[1] === import.meta.filename) {
  const expiresAt = Date.now() / 1_000 + 3_600;
  const verify = async (token: string) => ({ token, clientId: token, scopes: [], expiresAt });
  createApp(redisStore(new Redis()), verify).listen(3000);
}
