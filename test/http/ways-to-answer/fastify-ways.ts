import { createReadStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import type { FastifyReply, FastifyRequest } from "fastify";
import type { Ways } from "./scenario.ts";
import { ERROR } from "./scenario.ts";

export interface DeniedInFastify {
  readonly request: FastifyRequest;
  readonly reply: FastifyReply & {
    page(view: string, data: object): Promise<unknown>;
    sendFile(name: string): unknown;
    download(name: string): unknown;
  };
}

/** The body of the not-found handler of the application under test. */
export const NOT_FOUND = "[not found]";

const FILES = join(import.meta.dirname, "files");
const own = (body: string) => [body];
const none = () => [];
const failed = () => [ERROR];

/** What applications on Fastify do about a denied request. */
export const fastifyWays: Ways<DeniedInFastify> = {
  nothing: { act: () => {}, answers: none },
  "a status": { act: ({ reply }) => void reply.code(200), answers: none },
  "a header, returned with the reply": {
    isLoner: true,
    act: ({ reply }) => reply.header("content-length", "3"),
    answers: none,
  },
  allow: { act: () => "allow", answers: none, letsOn: true, isAwaited: true },
  "allow, promised": { act: async () => "allow", answers: none, letsOn: true, isAwaited: true },
  "a count": { act: () => 1, answers: none },
  "an object of a library": { act: () => new Map([["a", 1]]), answers: none },
  send: { act: ({ reply }, body) => void reply.code(503).send(body), answers: own },
  "send, returned": { act: ({ reply }, body) => reply.send(body), answers: own },
  "send an object": {
    act: ({ reply }, body) => void reply.send({ body }),
    answers: (body) => [JSON.stringify({ body })],
  },
  "send a stream": {
    act: ({ reply }, body) => void reply.send(Readable.from([...body])),
    answers: own,
    isSlow: true,
  },
  "send a stream of no file": {
    act: ({ reply }) => void reply.send(createReadStream(join(FILES, "missing.txt"))),
    answers: failed,
    isSlow: true,
  },
  "send an error": {
    act: ({ reply }) => void reply.send(new Error("a bug")),
    answers: failed,
    isSlow: true,
  },
  redirect: { act: ({ reply }) => void reply.redirect("/slow-down"), answers: () => [""] },
  "a template": {
    act: ({ reply }, body) => void reply.page("denied.ejs", { body }),
    answers: own,
    isSlow: true,
  },
  "no template": {
    act: ({ reply }) => void reply.page("missing.ejs", {}),
    answers: failed,
    isSlow: true,
  },
  "a file": {
    act: ({ reply }) => void reply.sendFile("denied.txt"),
    answers: () => ["[file]"],
    isSlow: true,
  },
  "no file": {
    act: ({ reply }) => void reply.sendFile("missing.txt"),
    answers: () => [NOT_FOUND],
    isSlow: true,
  },
  "a download": {
    act: ({ reply }) => void reply.download("denied.txt"),
    answers: () => ["[file]"],
    isSlow: true,
  },
  "not found": {
    act: ({ reply }) => void reply.callNotFound(),
    answers: () => [NOT_FOUND],
    isSlow: true,
  },
  "by hand": {
    isLoner: true,
    act: ({ reply }, body) => {
      reply.hijack();
      reply.raw.end(body);
    },
    answers: own,
  },
  "by hand, some time later": {
    isLoner: true,
    act: ({ reply }, body) => {
      reply.hijack();
      setTimeout(() => reply.raw.end(body), 3);
    },
    answers: own,
    isSlow: true,
  },
  "raw, without hijack": {
    isLoner: true,
    act: ({ reply }, body) => void reply.raw.end(body),
    answers: own,
  },
  "a raw pipe, without hijack": {
    isLoner: true,
    act: ({ reply }, body) => void Readable.from([...body]).pipe(reply.raw),
    answers: own,
    isSlow: true,
  },
  "a raw pipe of no file": {
    isLoner: true,
    act: ({ reply }) => void createReadStream(join(FILES, "missing.txt")).pipe(reply.raw),
    answers: failed,
    isSlow: true,
  },
  "a raw chunk that is none": {
    act: ({ reply }) => void reply.raw.write(5),
    answers: failed,
    needsCaller: true,
    fails: true,
  },
  throw: {
    act: () => {
      throw new Error("a bug");
    },
    answers: failed,
    needsCaller: true,
    fails: true,
  },
  "reject with nothing": {
    act: () => Promise.reject(undefined),
    answers: failed,
    isAwaited: true,
    needsCaller: true,
    fails: true,
  },
};
