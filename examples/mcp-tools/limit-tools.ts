// Limits the tools of an MCP server, on any transport: docs/recipes/mcp-tools.md says more.

import type { Decision } from "@headgate/core";
import type { McpServer } from "@modelcontextprotocol/sdk/server/mcp.js";
import type { Transport } from "@modelcontextprotocol/sdk/shared/transport.js";
import type {
  JSONRPCMessage,
  JSONRPCRequest,
  MessageExtraInfo,
} from "@modelcontextprotocol/sdk/types.js";

/** Of the codes that JSON-RPC leaves to servers. */
const RATE_LIMITED = -32_029;

/** Decides about a call of a tool. */
export type Decide = (tool: string, extra: MessageExtraInfo | undefined) => Promise<Decision>;

function isCall(message: JSONRPCMessage): message is JSONRPCRequest {
  return "method" in message && message.method === "tools/call" && "id" in message;
}

// #region connect
/** Connects a server to a transport. A call that is denied is answered here, and the server does not see it. */
export async function connectLimited(
  server: McpServer,
  transport: Transport,
  decide: Decide,
): Promise<void> {
  await server.connect(transport);
  const pass = transport.onmessage;

  async function answer(call: JSONRPCRequest, extra: MessageExtraInfo | undefined): Promise<void> {
    const { allowed, retryAfterMs } = await decide(String(call.params?.["name"]), extra);
    if (allowed) {
      pass?.(call, extra);
      return;
    }
    const retryAfterSeconds = Math.ceil(retryAfterMs / 1_000);
    const message = `Too many calls. Try again in ${retryAfterSeconds} s.`;
    const error = { code: RATE_LIMITED, message, data: { retryAfterSeconds } };
    await transport.send({ jsonrpc: "2.0", id: call.id, error });
  }

  transport.onmessage = (message, extra) => {
    if (isCall(message)) {
      answer(message, extra).catch((error: Error) => transport.onerror?.(error));
    } else pass?.(message, extra);
  };
}
// #endregion
