import type { Decision } from "@headgate/core";
import type { CountOption, GuardOptions } from "@headgate/core/http";
import type { Request } from "express";
import type { FastifyRequest } from "fastify";
import type { RequestInput, TestResponse } from "./send-request.ts";

/** A request of any framework. */
export type AnyRequest = FastifyRequest | Request;

/** Sends a complete response in the framework's own way. */
export type Send = (status: number, body: string) => void;

/** The members that the frameworks' replies share. */
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
  /** Limiters of this route, after those of the whole site. */
  readonly limits?: SharedOptions | readonly SharedOptions[];
  /** Returns the JSON of the response; by default the binding decision. */
  readonly handle?: (request: AnyRequest) => unknown;
}

/** A site to build with a framework. */
export interface Site {
  /** Limiters of the whole site, in order. */
  readonly limits?: SharedOptions | readonly SharedOptions[];
  /** Routes by path, for GET and POST. Default: one, at "/". */
  readonly routes?: Readonly<Record<string, Route>>;
  /** Runs before the limiters, and may be asynchronous. */
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

/** A running site; it is closed with the test. */
export interface RunningSite {
  readonly port: number;
  /** The path of each request that reached a handler. */
  readonly handled: string[];
  /** The errors that reached the application's error handler. */
  readonly errors: Error[];
  /** The warnings for the operator. */
  readonly warnings: Warning[];
  sendRequest(path?: string, question?: RequestInput): Promise<TestResponse>;
  /** Closes the site as the framework's users do. */
  close(): Promise<void>;
}

/** A framework under test. */
export interface Framework {
  readonly name: string;
  /** Whether it knows which proxies to trust, so that Headgate can tell when it trusts too many. Default true. */
  readonly trustsProxies?: boolean;
  /** Whether a handler returns its response instead of sending it. Default false. */
  readonly returnsAnswers?: boolean;
  /** Builds and starts a site. Rejects with the error that the framework's users would get. */
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
