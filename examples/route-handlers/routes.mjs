// The handlers of an application's routes. In Next.js each would be exported as GET, in a route.js of its own.

import { gcra } from "@headgate/core";
import { byHeader } from "@headgate/core/http";
import { rateLimit } from "./rate-limit.mjs";

/** Yours would be in a database. */
const CUSTOMERS = new Map([["ada-key", "ada"]]);

/** The header in which the platform puts the client's address; it removes the same header from what clients send. */
const header = process.env["ADDRESS_HEADER"];

/** @param {Request} request */
const addressOf = (request) =>
  header === undefined ? undefined : (request.headers.get(header) ?? undefined);

const everything = rateLimit({ limits: gcra({ limit: 5, window: "1m" }) }, addressOf);
const searches = rateLimit({ limits: gcra({ limit: 2, window: "1m" }) }, addressOf);
const reports = rateLimit({
  limits: gcra({ limit: 3, window: "1m" }),
  key: byHeader("x-api-key"),
  missingKey: "reject",
});
const accounts = rateLimit({
  limits: gcra({ limit: 3, window: "1m" }),
  key: (request) => {
    const customer = CUSTOMERS.get(request.headers.get("x-api-key") ?? "");
    if (customer === undefined) throw new Error("no such key");
    return customer;
  },
});

/** @param {Request} request */
const left = (request) =>
  Response.json({ left: everything.decisionOf(request)?.decision.remaining });

export const home = everything(left);
export const search = everything(searches(left));
export const report = reports(() => new Response("a report"));
export const account = accounts(() => new Response("an account"));
export const health = () => new Response("ok");
