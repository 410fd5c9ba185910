import type { AddressInfo } from "node:net";
import type { Express } from "express";
import express from "express";
import express4 from "express4";
import { describe, onTestFinished } from "vitest";
import { listen } from "../support/listen.ts";
import type { SendRequest } from "../support/send-request.ts";
import { createHttpClient } from "../support/send-request.ts";

interface ExpressServer {
  readonly port: number;
  readonly sendRequest: SendRequest;
}

/** A version of Express. */
export interface ExpressSubject {
  readonly make: typeof express;
  /** Serves an application until the test ends. */
  serve(build: (app: Express) => void): Promise<ExpressServer>;
}

/** Declares the same tests on Express 4 and 5. */
export function describeExpress(declare: (subject: ExpressSubject) => void): void {
  for (const [name, make] of [
    ["Express 4", express4],
    ["Express 5", express],
  ] as const) {
    describe(name, () => declare({ make, serve: (build) => serveApp(make(), build) }));
  }
}

async function serveApp(app: Express, build: (app: Express) => void): Promise<ExpressServer> {
  build(app);
  const server = await listen(app);
  const { port } = server.address() as AddressInfo;
  const { sendRequest, end } = createHttpClient({ port });
  onTestFinished(end);
  return { port, sendRequest };
}
