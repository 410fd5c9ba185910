import type { IncomingMessage } from "node:http";
import type { RequestWrapper } from "@headgate/core/internal-http";
import { WRAPPED_REQUEST } from "@headgate/core/internal-http";

/*
 * The members of requests and responses that are used here, so that the package needs no framework, nor its types. HTTP/1.1 and HTTP/2's
 * compatibility API have them.
 */

/** Node's request, also as Express, Koa or Connect extend it. */
export interface NodeRequest {
  readonly url?: string | undefined;
  readonly method?: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly socket: NodeSocket;
}

/** Node's connection. */
export interface NodeSocket {
  readonly destroyed?: boolean | undefined;
  readonly remoteAddress?: string | undefined;
  readonly localAddress?: string | undefined;
}

/** Node's response. */
export interface NodeResponse {
  readonly headersSent: boolean;
  readonly writableEnded: boolean;
  writeHead(status: number, headers: Record<string, string>): unknown;
  end(body: string): unknown;
}

/** Fastify's request. */
export interface FastifyRequestLike {
  readonly raw: NodeRequest;
}

/** Fastify's reply. */
export interface FastifyReplyLike {
  readonly raw: NodeResponse;
  code(status: number): unknown;
  headers(values: Record<string, string>): unknown;
  send(body: Buffer): unknown;
}

/** A hook of Fastify. */
type OnRequest = (
  request: FastifyRequestLike,
  reply: FastifyReplyLike,
  done: (error?: Error) => void,
) => void;

/** Fastify's instance. */
export interface FastifyLike {
  addHook(name: "onRequest", hook: OnRequest): unknown;
}

/** A plugin of Fastify. */
export type FastifyPluginLike = (app: FastifyLike, options: object, done: () => void) => void;

/** Hono's context. */
export interface HonoContextLike {
  readonly env: unknown;
}

/** A middleware of Hono, whose context is what the functions in the options get. */
export type HonoMiddlewareLike<Context = object> = (
  context: HonoContextLike & Context,
  next: () => Promise<void>,
) => Promise<Response | undefined>;

/** A request on its way through the middleware of a framework. */
export interface Exchange {
  readonly req: NodeRequest;
  readonly res: NodeResponse;
  /** The request as the functions in the options get it. */
  readonly request: object;
  /** Hands the request on, with an error if a function of the options failed. */
  next(error?: Error): void;
  /** Responds with status 503. */
  reject(): void;
  /** Ends a request whose client is gone. */
  drop(): void;
}

/** Ends a request in frameworks that learn from the response that its connection was closed. */
export function doNothing(): void {}

/** The response to a shed request. */
export interface ShedResponse {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: string;
}

/** What makes a plugin's hooks those of the whole application, as `fastify-plugin` does, and names it in Fastify's messages. */
const PLUGIN_MARKS = {
  [Symbol.for("skip-override")]: true,
  [Symbol.for("fastify.display-name")]: "@headgate/shed",
};

/** Fastify's plugin: a hook that runs before all that are registered later. */
export function toFastifyPlugin(
  enter: (exchange: Exchange) => void,
  { status, headers, body }: ShedResponse,
): FastifyPluginLike {
  const plugin: FastifyPluginLike = (app, _options, done) => {
    app.addHook("onRequest", (request, reply, next) => {
      enter({
        req: request.raw,
        res: reply.raw,
        request,
        next,
        reject() {
          reply.code(status);
          reply.headers({ ...headers });
          // Fastify adds a charset to text.
          reply.send(Buffer.from(body));
        },
        drop: doNothing,
      });
    });
    done();
  };
  return Object.assign(plugin, PLUGIN_MARKS);
}

/** The properties of `c.env` from @hono/node-server; inside Vite, they are those of `server`. */
interface HonoBindings {
  readonly incoming?: NodeRequest;
  readonly outgoing?: NodeResponse;
  readonly server?: HonoBindings;
}

/** As nginx logs a request whose client has disconnected. */
const CLIENT_CLOSED_REQUEST = 499;

/** Hono's middleware on Node. */
export function toHonoMiddleware(
  enter: (exchange: Exchange) => void,
  { status, headers, body }: ShedResponse,
): HonoMiddlewareLike {
  return (context, next) => {
    const env = (context.env ?? {}) as HonoBindings;
    const { incoming, outgoing } = env.server ?? env;
    if (incoming === undefined || outgoing === undefined) return next() as Promise<undefined>;
    // Key functions look for headers in the request that a context wraps.
    (context as RequestWrapper)[WRAPPED_REQUEST] ??= incoming;
    return new Promise((resolve, reject) => {
      enter({
        req: incoming,
        res: outgoing,
        request: context,
        next(error) {
          if (error === undefined) resolve(next() as Promise<undefined>);
          else reject(error);
        },
        reject() {
          resolve(new Response(body, { status, headers: { ...headers } }));
        },
        // Nobody gets this response, but the middleware around this one waits for it.
        drop() {
          resolve(new Response(null, { status: CLIENT_CLOSED_REQUEST }));
        },
      });
    });
  };
}
