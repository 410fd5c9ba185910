import type { IncomingMessage, ServerResponse } from "node:http";

/** The part of Fastify that the plugin uses: it needs neither Fastify nor its types. */
export interface FastifyLike {
  removeAllContentTypeParsers(): void;
  addContentTypeParser(
    contentType: string,
    parser: (
      request: object,
      payload: object,
      done: (error: Error | null, body?: unknown) => void,
    ) => void,
  ): unknown;
  route(options: {
    readonly method: string[];
    readonly url: string;
    readonly handler: (request: object, reply: object) => Promise<unknown>;
  }): unknown;
}

/** The part of a request of Fastify that the plugin and `authorize` may use. */
export interface FastifyRequestLike {
  readonly raw: IncomingMessage;
  readonly url: string;
  readonly originalUrl: string;
  readonly params: unknown;
  readonly headers: IncomingMessage["headers"];
  readonly ip: string;
}

/** The part of a reply of Fastify that the plugin and `authorize` may use. */
export interface FastifyReplyLike {
  readonly raw: ServerResponse;
  readonly sent: boolean;
  code(status: number): unknown;
  headers(headers: Record<string, string>): unknown;
  send(body?: unknown): unknown;
}
