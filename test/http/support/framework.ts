import type { Decision } from "@headgate/core";
import type { CountOption, GuardOptions } from "@headgate/core/http";
import type { Request } from "express";
import type { FastifyRequest } from "fastify";
import type { Answer, Question } from "./ask.ts";

/** A request of any framework. */
export type AnyRequest = FastifyRequest | Request;

/** Sends a whole answer, in the framework's own way. */
export type Send = (status: number, body: string) => void;

/** What is the same of the frameworks' replies. */
export interface AnyReply {
  readonly statusCode: number;
}

/** Options as every adapter takes them; only `onDenied` sees replies that the frameworks do not share. */
export interface SharedOptions extends GuardOptions<AnyRequest> {
  readonly count?: CountOption<AnyRequest, AnyReply> | undefined;
  readonly onDenied?:
    | ((request: AnyRequest, send: Send, decision: Decision) => unknown)
    | "error"
    | undefined;
}

export interface Route {
  /** Limiters of this route, asked after those of the whole site. */
  readonly limits?: SharedOptions | readonly SharedOptions[];
  /** Returns what is answered as JSON; by default the decision that binds. */
  readonly handle?: (request: AnyRequest) => unknown;
}

/** What to build with a framework. */
export interface Site {
  /** Limiters of the whole site, asked one after another. */
  readonly limits?: SharedOptions | readonly SharedOptions[];
  /** Routes by path, for GET and POST. Default: one, at "/". */
  readonly routes?: Readonly<Record<string, Route>>;
  /** Runs before the limiters, and may take its time. */
  readonly before?: (request: AnyRequest, send: Send) => unknown;
  readonly trustProxy?: string | boolean | ((address: string, hop: number) => boolean);
  /** Whether errors go to an error handler of the application (default), or to the framework's own. */
  readonly ownErrorHandler?: boolean;
  /** The unix socket to listen on. Default: a free port of 127.0.0.1. */
  readonly path?: string;
}

export interface Warning {
  readonly code: string;
  readonly message: string;
}

/** A site that runs; it ends with the test. */
export interface RunningSite {
  readonly port: number;
  /** The path of each request that reached a handler. */
  readonly handled: string[];
  /** What reached the application's error handler. */
  readonly errors: Error[];
  /** What was logged for an operator. */
  readonly warnings: Warning[];
  ask(path?: string, question?: Question): Promise<Answer>;
  /** Ends it as the framework's users do. */
  close(): Promise<void>;
}

/** A framework behind which requests are limited. */
export interface Framework {
  readonly name: string;
  /** Whether it knows which proxies to trust, so that Headgate can tell when it trusts too many. Default true. */
  readonly trustsProxies?: boolean;
  /** Whether an answer is what a function returns, and not what it sends. Default false. */
  readonly returnsAnswers?: boolean;
  /** Builds and starts a site. Rejects with what the framework's users would get as an error. */
  serve(site?: Site): Promise<RunningSite>;
}

/** The error handler of every site: it reports the code, and the status that the error asks for. */
export function describeError(error: unknown): { status: number; body: object } {
  const { status = 500, code, message } = error as { status?: number } & NodeJS.ErrnoException;
  return { status, body: { code, message } };
}

export function listOf<T>(value: T | readonly T[] = []): readonly T[] {
  return [value].flat() as readonly T[];
}
