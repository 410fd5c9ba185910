import type { Client, HttpRequest, NodeHeaders } from "@headgate/core/http";
import { clientOf } from "@headgate/core/http";
import type { RequestWrapper } from "@headgate/core/internal-http";
import { unwrapRequest, WRAPPED_REQUEST } from "@headgate/core/internal-http";
import type { ArgumentsHost, ExecutionContext } from "@nestjs/common";
import type { Reply } from "./reply.ts";

/** The context in the type that Headgate's guard takes. */
export type NestRequest = ExecutionContext & HttpRequest;

/** A request of Express, or of Fastify, whose Node request is `raw`. */
export interface WebRequest extends HttpRequest {
  readonly headers: NodeHeaders;
  readonly socket?: Socket | null;
  readonly raw?: { readonly socket?: Socket | null };
  readonly method?: string;
  /** Express: the route. */
  readonly route?: { readonly path?: string };
  /** Fastify: the route. */
  readonly routeOptions?: { readonly url?: string | undefined };
}

interface Socket {
  readonly remoteAddress?: string | undefined;
  readonly server?: object;
}

/** The context of graphql-ws, whose `extra` has the request that opened the WebSocket. */
interface SocketContext {
  readonly extra?: { readonly request?: WebRequest };
}

/** The context of a GraphQL operation: Apollo's has the request, or the context of graphql-ws in its place, and Mercurius's the reply. */
interface QueryContext extends SocketContext {
  readonly req?: WebRequest & SocketContext;
  readonly res?: Reply;
  readonly reply?: Reply & { readonly request: WebRequest };
}

/** A client of WebSockets: of Socket.IO with its handshake, or of ws. */
interface SocketClient {
  readonly handshake?: { readonly address?: string; readonly headers?: NodeHeaders };
  readonly _socket?: Socket;
  readonly disconnected?: boolean;
  readonly readyState?: number;
}

/** The subject of one decision: a request, a field of a GraphQL query, or a message of a WebSocket. */
export interface LimitedContext {
  readonly client: Client;
  /** The object that stores the decision, as `rateLimit`. */
  readonly request: HttpRequest & { rateLimit?: unknown };
  /** The platform's own reply, for headers and responses; undefined for fields and messages, which share one with others. */
  readonly reply: Reply | undefined;
  /** Node's response, whose end is watched; undefined for messages. */
  readonly response: object | undefined;
}

/** Each field of a query is limited separately: `{ a: login(...) b: login(...) }` are two attempts in one request. */
const fields = new WeakMap<object, HttpRequest>();

/** The kind of a context: `"http"`, `"graphql"`, `"ws"`, or another that is not limited. */
export function kindOf(host: ArgumentsHost): string {
  return host.getType<string>();
}

/** Reads a context; all guards on its way get the same request. Throws for a kind that is not supported. */
export function readContext(context: ExecutionContext): LimitedContext {
  const kind = kindOf(context);
  if (kind === "http") return readHttpContext(context);
  if (kind === "graphql") return readGraphqlContext(context);
  if (kind === "ws") return readWebSocketContext(context);
  throw new TypeError(
    `Headgate limits HTTP requests, GraphQL fields and WebSocket messages, not "${kind}"; put @SkipRateLimit() on the handler, and call limiter.consume(subject) there`,
  );
}

function readHttpContext(context: ExecutionContext): LimitedContext {
  const http = context.switchToHttp();
  const request = http.getRequest<WebRequest>();
  const reply = http.getResponse<Reply>();
  const carrier = wrapRequest(context, request);
  const client = clientOf(request.ip, request.raw ?? request);
  return { client, request: carrier, reply, response: reply.raw ?? reply };
}

function readGraphqlContext(context: ExecutionContext): LimitedContext {
  const [, , own = {}, info] = context.getArgs<[unknown, unknown, QueryContext, object]>();
  const { req, res, reply } = own;
  const request = req?.extra?.request ?? own.extra?.request ?? req ?? reply?.request;
  if (request?.headers === undefined) {
    throw new TypeError(
      "Headgate needs the HTTP request of a GraphQL operation, or the one that opened its WebSocket; let the GraphQL context have it as req, as in ({ req, res }) => ({ req, res })",
    );
  }
  const { headers, raw = request } = request;
  // Node's own request, which opens a WebSocket, has no ip.
  const ip = request.ip ?? raw.socket?.remoteAddress;
  const field = fields.get(info) ?? { ip, headers };
  fields.set(info, field);
  return {
    client: clientOf(ip, raw),
    request: wrapRequest(context, field),
    reply: undefined,
    // Mercurius puts an object in place of the reply of a subscription.
    response: res?.raw ?? res ?? reply?.raw,
  };
}

function readWebSocketContext(context: ExecutionContext): LimitedContext {
  const socket = context.switchToWs().getClient<SocketClient>();
  const { handshake = {}, _socket } = socket;
  const address = handshake.address ?? _socket?.remoteAddress;
  const isDisconnected = (): boolean =>
    socket.disconnected === true || (socket.readyState ?? 1) > 1;
  return {
    client: { address, peer: address, isDisconnected },
    request: wrapRequest(context, { headers: handshake.headers ?? {} }),
    reply: undefined,
    response: undefined,
  };
}

/** Wraps a request in its context, in the first guard of the context. */
function wrapRequest(context: ExecutionContext, request: HttpRequest): HttpRequest {
  const standIn = context as RequestWrapper;
  standIn[WRAPPED_REQUEST] ??= request;
  return standIn[WRAPPED_REQUEST];
}

/** The object that stores decisions: the request or field itself, or the one that a context wraps. */
export function requestOf(target: object): object {
  return fields.get(target) ?? unwrapRequest(target);
}

/** The method and the route of a request as the application wrote it, or the class and the method of another handler. */
export function routeOf(context: ExecutionContext): string | undefined {
  if (kindOf(context) !== "http") return `${context.getClass().name}.${context.getHandler().name}`;
  const { method, route, routeOptions } = context.switchToHttp().getRequest<WebRequest>();
  const path = route?.path ?? routeOptions?.url;
  return path === undefined ? undefined : `${method} ${path}`;
}

/** The server that received a request, if it is known. */
export function serverOf(context: object): object | undefined {
  const request = requestOf(context) as Partial<WebRequest>;
  return (request.raw ?? request).socket?.server;
}
