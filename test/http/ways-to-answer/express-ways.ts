import { createReadStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import type { Request, Response } from "express";
import type { Ways } from "./scenario.ts";
import { ERROR } from "./scenario.ts";

export interface DeniedInExpress {
  readonly req: Request;
  readonly res: Response;
}

const FILES = join(import.meta.dirname, "files");
const own = (body: string) => [body];
const none = () => [];
const failed = () => [ERROR];

/** What applications on Express do about a denied request. */
export const expressWays: Ways<DeniedInExpress> = {
  nothing: { act: () => {}, answers: none },
  "a status": { act: ({ res }) => void res.status(200), answers: none },
  "headers of an answer": {
    isLoner: true,
    act: ({ res }) => void res.type("html").set("Content-Length", "3"),
    answers: none,
  },
  allow: { act: () => "allow", answers: none, letsOn: true, isAwaited: true },
  "allow, promised": { act: async () => "allow", answers: none, letsOn: true, isAwaited: true },
  "a count": { act: () => 1, answers: none },
  send: { act: ({ res }, body) => res.status(503).send(body), answers: own },
  json: { act: ({ res }, body) => res.json(body), answers: (body) => [JSON.stringify(body)] },
  end: { act: ({ res }, body) => res.end(body), answers: own },
  "write and end": {
    act: ({ res }, body) => {
      res.write(body.slice(0, 1));
      res.end(body.slice(1));
    },
    answers: own,
  },
  sendStatus: { act: ({ res }) => res.sendStatus(420), answers: () => ["420"] },
  redirect: {
    act: ({ res }) => res.redirect("/slow-down"),
    answers: () => ["Found. Redirecting to /slow-down"],
  },
  "a template": {
    act: ({ res }, body) => res.render("denied", { body }),
    answers: own,
    isSlow: true,
  },
  "a template, called back": {
    act: ({ res }, body) => res.render("denied", { body }, (_, html) => res.send(html)),
    answers: own,
    isSlow: true,
  },
  "a template, called back for nothing": {
    act: ({ res }, body) => res.render("denied", { body }, () => {}),
    answers: none,
    isSlow: true,
  },
  "a template, called back by a bug": {
    act: ({ res }, body) =>
      res.render("denied", { body }, () => {
        throw new Error("a bug");
      }),
    answers: failed,
    isSlow: true,
  },
  "no template": { act: ({ res }) => res.render("missing"), answers: failed, isSlow: true },
  "a file": {
    act: ({ res }) => res.sendFile(join(FILES, "denied.txt")),
    answers: () => ["[file]"],
    isSlow: true,
  },
  "a file, called back": {
    act: ({ res }) => res.sendFile(join(FILES, "denied.txt"), () => {}),
    answers: () => ["[file]"],
    isSlow: true,
  },
  "no file": {
    act: ({ res }) => res.sendFile(join(FILES, "missing.txt")),
    answers: failed,
    isSlow: true,
  },
  "no file, called back": {
    act: ({ res }) => res.sendFile(join(FILES, "missing.txt"), () => {}),
    answers: none,
    isSlow: true,
  },
  "a directory": { act: ({ res }) => res.sendFile(FILES), answers: failed, isSlow: true },
  "a download": {
    act: ({ res }) => res.download(join(FILES, "denied.txt")),
    answers: () => ["[file]"],
    isSlow: true,
  },
  "a pipe": {
    act: ({ res }, body) => Readable.from([...body]).pipe(res),
    answers: own,
    isSlow: true,
  },
  "a pipe of a file": {
    act: ({ res }) => createReadStream(join(FILES, "denied.txt")).pipe(res),
    answers: () => ["[file]"],
    isSlow: true,
  },
  "a pipe of no file": {
    act: ({ res }) => createReadStream(join(FILES, "missing.txt")).pipe(res),
    answers: failed,
    isSlow: true,
  },
  "a pipe that breaks off": {
    act: ({ res }) => {
      const source = new Readable({ read() {} });
      source.pipe(res);
      source.destroy();
    },
    answers: none,
    isSlow: true,
  },
  "a pipeline": {
    act: ({ res }, body) => pipeline(Readable.from([...body]), res),
    answers: own,
    isSlow: true,
    isAwaited: true,
    needsCaller: true,
  },
  next: {
    isLoner: true,
    // The handler behind the limiter answers some time later.
    act: ({ req }) => req.next?.(),
    answers: none,
    isSlow: true,
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
