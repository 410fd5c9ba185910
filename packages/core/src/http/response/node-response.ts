import type { ServerResponse } from "node:http";

/** Whether a response's end can be watched: not if it is Node's request, a framework's own response, or one of the Fetch API. */
export function isNodeResponse(response: unknown): response is object {
  const { setHeader, prependOnceListener } = (response ?? {}) as Partial<ServerResponse>;
  return typeof setHeader === "function" && typeof prependOnceListener === "function";
}
