import type { Header } from "./verdict.ts";

/** Fastify's reply, which has headers of its own in addition to those of Node's response. */
export interface ReplyWithRaw {
  readonly raw: {
    readonly headersSent: boolean;
    getHeader(name: string): unknown;
    setHeader(name: string, value: string): unknown;
    removeHeader(name: string): unknown;
  };
  getHeader(name: string): unknown;
  header(name: string, value: unknown): unknown;
  removeHeader(name: string): unknown;
}

/** Headers that are set on a reply and on its raw response. */
export interface MirroredHeaders {
  /** Copies the raw response's current values to the reply, for an error handler to see. */
  copyBack(): void;
  /** Restores the raw response. */
  restore(): void;
}

/**
 * Sets headers of a reply on its raw response too, for code that responds there. Headers removed
 * from the reply later are removed from both.
 */
export function mirrorHeaders(reply: ReplyWithRaw, headers: readonly Header[]): MirroredHeaders {
  const { raw, removeHeader } = reply;
  const before = headers.map(([name]) => [name, raw.getHeader(name)] as const);
  const shown = headers
    .filter(([, value]) => value !== undefined)
    .map(([name]) => [name, reply.getHeader(name) as string] as const);
  for (const [name, value] of shown) raw.setHeader(name, value);
  const names = new Set(shown.map(([name]) => name.toLowerCase()));
  reply.removeHeader = (name) => {
    if (names.has(name.toLowerCase()) && !raw.headersSent) raw.removeHeader(name);
    return removeHeader.call(reply, name);
  };
  return {
    copyBack() {
      for (const [name, value] of shown) {
        const now = raw.getHeader(name);
        if (now === undefined) reply.removeHeader(name);
        else if (String(now) !== String(value)) reply.header(name, now);
      }
    },
    restore() {
      for (const [name, value] of before) {
        if (value === undefined) raw.removeHeader(name);
        else raw.setHeader(name, value as string);
      }
    },
  };
}
