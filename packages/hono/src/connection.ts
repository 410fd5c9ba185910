import type { IncomingMessage, ServerResponse } from "node:http";
import type { Client, HttpRequest } from "@headgate/core/http";
import { clientOf } from "@headgate/core/http";
import type { RequestWrapper } from "@headgate/core/internal-http";
import { WRAPPED_REQUEST } from "@headgate/core/internal-http";
import type { Context } from "hono";
import type { GetConnInfo } from "hono/conninfo";
import { FetchResponse } from "./fetch-response.ts";

/** The properties of `c.env` from @hono/node-server, `Bun.serve` and `Deno.serve`. */
interface Bindings {
  readonly incoming?: IncomingMessage;
  readonly outgoing?: ServerResponse;
  /** @hono/node-server inside Vite, or `Bun.serve` where the application passes `{ server }`. */
  readonly server?: Bindings;
  readonly requestIP?: (request: Request) => { readonly address: string } | null;
  readonly remoteAddr?: { readonly hostname?: string };
}

/** The context in the type that Headgate's guard takes. */
export type HonoRequest = Context & HttpRequest;

/** The sender of a request, and its response. */
export interface Connection {
  readonly client: Client;
  /** Node's response, or its replacement on the Fetch API; undefined if it is not needed. */
  readonly response: ServerResponse | FetchResponse | undefined;
  /** The replacement, if this limiter created it and must report to it when the middleware runs and returns; otherwise undefined. */
  readonly created: FetchResponse | undefined;
}

/** The server that received a request, if it is known. */
export function serverOf({ env }: Context): object | undefined {
  const { incoming, server } = (env ?? {}) as Bindings;
  const socket = (server?.incoming ?? incoming)?.socket as { readonly server?: object } | undefined;
  return socket?.server ?? server;
}

/** The replacements of responses, shared by all limiters on a request. */
const responses = new WeakMap<Context, FetchResponse>();

/** Reads the sender of a request, before anything is awaited. `getConnInfo` is the application's function, if it gave one. */
export function readConnection(
  c: Context,
  needsResponse: boolean,
  getConnInfo: GetConnInfo | undefined,
): Connection {
  const env = (c.env ?? {}) as Bindings;
  const { incoming, outgoing, requestIP, remoteAddr } = env.server ?? env;
  // Node's own request has its headers at hand; those of the Fetch API would be made of them.
  (c as RequestWrapper)[WRAPPED_REQUEST] ??= (incoming ?? c.req.raw) as HttpRequest;
  const given = getConnInfo?.(c).remote.address;
  if (incoming !== undefined) {
    const address = getConnInfo === undefined ? incoming.socket.remoteAddress : given;
    return { client: clientOf(address, incoming), response: outgoing, created: undefined };
  }
  const { raw } = c.req;
  const own = requestIP?.call(env.server ?? env, raw)?.address ?? remoteAddr?.hostname;
  const address = getConnInfo === undefined ? own : given;
  const client = { address, peer: own ?? address, isDisconnected: () => raw.signal.aborted };
  if (!needsResponse) return { client, response: undefined, created: undefined };
  const known = responses.get(c);
  if (known !== undefined) return { client, response: known, created: undefined };
  const created = new FetchResponse(c);
  responses.set(c, created);
  return { client, response: created, created };
}
