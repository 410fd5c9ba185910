/*
 * The members of Express's request and response that the middleware's own type names. Its full types would carry
 * `req.params` of no particular route, and spoil those of the handlers after it.
 */
export interface RequestLike {
  readonly ip?: string | undefined;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly socket: object;
}

export interface ResponseLike {
  setHeader(name: string, value: string): unknown;
  end(body: string): unknown;
}

export type Next = (error?: unknown) => void;
