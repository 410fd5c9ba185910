import type { ServerResponse } from "node:http";

/** Whether its end can be watched: it is neither Node's request, nor a framework's own response, nor one of the Fetch API. */
export function isNodeResponse(response: unknown): response is object {
  const { setHeader, prependOnceListener } = (response ?? {}) as Partial<ServerResponse>;
  return typeof setHeader === "function" && typeof prependOnceListener === "function";
}
