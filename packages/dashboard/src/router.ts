import type { IncomingHttpHeaders } from "node:http";
import { codeOf, emitWarning, formatReceived } from "@headgate/core/internal";
import { visibleTo } from "./access/visible-to.ts";
import type { Visitor } from "./access/visitor.ts";
import { parsePermission } from "./access/visitor.ts";
import type { Dashboard } from "./dashboard.ts";
import type { EndpointContext } from "./endpoints.ts";
import { READ_ENDPOINTS, WRITE_ENDPOINTS } from "./endpoints.ts";
import { HttpError, storeUnavailable } from "./serve/http-error.ts";
import type { HttpExchange, HttpResponse } from "./serve/http-exchange.ts";
import { errorResponse, jsonResponse, textResponse } from "./serve/http-exchange.ts";
import { readBody } from "./serve/read-body.ts";

const FILES_MISSING =
  "The dashboard's files are missing. They are in the folder dist/page of @headgate/dashboard: if the application is bundled, copy that folder next to the bundle, and set the option `files` to the copy.";

/** Handles a request; resolves with undefined if the application has responded itself. Never rejects. */
export async function handleRequest(
  dashboard: Dashboard,
  exchange: HttpExchange,
): Promise<HttpResponse | undefined> {
  try {
    return await route(dashboard, exchange);
  } catch (error) {
    if (exchange.isResponseSent()) return undefined;
    return errorResponse(error instanceof HttpError ? error : toHttpError(error));
  }
}

async function route(
  dashboard: Dashboard,
  exchange: HttpExchange,
): Promise<HttpResponse | undefined> {
  const { path, query, raw } = exchange;
  if (path.startsWith("assets/")) {
    requireMethod(raw.method, ["GET", "HEAD"]);
    return fileResponse(dashboard, exchange, path) ?? textResponse(404, "There is no such file.");
  }
  if (path.startsWith("api/")) return handleApi(dashboard, exchange, path.slice("api/".length));
  const isPage = path === "" || path === "index.html";
  if (isPage && query.has("slash")) {
    requireMethod(raw.method, ["GET", "HEAD"]);
    return fileResponse(dashboard, exchange, "slash.js") ?? textResponse(503, FILES_MISSING);
  }
  if (!isPage) return textResponse(404, "There is no such page.");
  requireMethod(raw.method, ["GET", "HEAD"]);
  const visitor = await authorizeVisitor(dashboard, exchange);
  if (visitor === undefined) return undefined;
  return fileResponse(dashboard, exchange, "index.html") ?? textResponse(503, FILES_MISSING);
}

async function handleApi(
  dashboard: Dashboard,
  exchange: HttpExchange,
  name: string,
): Promise<HttpResponse | undefined> {
  const { raw, query } = exchange;
  const read = Object.hasOwn(READ_ENDPOINTS, name) ? READ_ENDPOINTS[name] : undefined;
  const write = Object.hasOwn(WRITE_ENDPOINTS, name) ? WRITE_ENDPOINTS[name] : undefined;
  const visitor = await authorizeVisitor(dashboard, exchange);
  if (visitor === undefined) return undefined;
  const context = { dashboard, visitor, reader: visibleTo(dashboard.reader, visitor) };
  if (read !== undefined) {
    requireMethod(raw.method, ["GET", "HEAD"]);
    return jsonResponse(await withOutage(context, async () => read(context, query)));
  }
  if (write === undefined) throw new HttpError(404, "NOT_FOUND", "there is no such endpoint");
  requireMethod(raw.method, ["POST"]);
  requireSameOrigin(raw.headers);
  const body = await readBody(exchange);
  return jsonResponse(await withOutage(context, () => write(context, body)));
}

/** Tells the visitor about the outage if Redis does not answer. */
async function withOutage<T>({ reader }: EndpointContext, answer: () => Promise<T>): Promise<T> {
  try {
    return await answer();
  } catch (error) {
    if (codeOf(error) !== "HEADGATE_STORE_UNAVAILABLE") throw error;
    throw storeUnavailable(reader.outage());
  }
}

/** The visitor; undefined if the application has responded itself. */
async function authorizeVisitor(
  dashboard: Dashboard,
  exchange: HttpExchange,
): Promise<Visitor | undefined> {
  try {
    const permission = await exchange.authorize();
    if (exchange.isResponseSent()) return undefined;
    return parsePermission(permission, dashboard.createBreaker !== undefined);
  } catch (error) {
    if (exchange.isResponseSent()) return undefined;
    if (error instanceof HttpError) throw error;
    // An error of the application, even if it is a HeadgateError: visitors do not get its message.
    logError(error);
    throw internalError();
  }
}

function fileResponse(
  { files }: Dashboard,
  { raw: { headers } }: HttpExchange,
  path: string,
): HttpResponse | undefined {
  const ifNoneMatch = headers["if-none-match"];
  return files.respond(path, String(headers["accept-encoding"] ?? ""), ifNoneMatch);
}

function requireMethod(method: string | undefined, allowed: readonly string[]): void {
  if (allowed.includes(method ?? "")) return;
  const allow = allowed.join(", ");
  throw new HttpError(405, "METHOD_NOT_ALLOWED", `only ${allow}`, { headers: { allow } });
}

/** Messages for errors of Redis, which name neither a server nor a user. */
const STORE_ERROR_MESSAGES: Readonly<Record<string, string>> = {
  HEADGATE_HASH_SLOT_UNAVAILABLE: "Redis did not answer for this hash slot",
  HEADGATE_STORE_MISCONFIGURED: "Redis, as it is configured, refuses this",
  HEADGATE_CONTROL_CORRUPT: "the control record in Redis cannot be read",
  HEADGATE_WRONG_TYPE: "a key of Headgate in Redis holds something else",
  HEADGATE_BAD_REPLY: "Redis sent an invalid reply",
};

function toHttpError(error: unknown): HttpError {
  const code = codeOf(error);
  const message = code === undefined ? undefined : STORE_ERROR_MESSAGES[code];
  if (code !== undefined && message !== undefined) return new HttpError(503, code, message);
  logError(error);
  return internalError();
}

function internalError(): HttpError {
  return new HttpError(500, "FAILED", "the server could not answer");
}

/** When each message was last logged, by `performance.now()`. */
const lastLoggedAt = new Map<string, number>();

const LOG_INTERVAL_MS = 60_000;

/** Logs an error that is hidden from visitors as a process warning: the same message at most once a minute. */
function logError(error: unknown): void {
  const text = error instanceof Error ? error.message : formatReceived(error);
  const now = performance.now();
  for (const [known, at] of lastLoggedAt)
    if (now - at >= LOG_INTERVAL_MS) lastLoggedAt.delete(known);
  if (lastLoggedAt.has(text) || lastLoggedAt.size >= 20) return;
  lastLoggedAt.set(text, now);
  const detail = error instanceof Error ? error.stack : undefined;
  emitWarning(
    "HEADGATE_DASHBOARD_FAILED",
    `the dashboard could not answer a request: ${text}`,
    detail,
  );
}

/**
 * Throws an `HttpError` unless the browser confirms that a request comes from a page of this origin. Browsers that do not send
 * `Sec-Fetch-Site` send `Origin`, whose host must match the requested one; the scheme is not compared, because a proxy may have
 * terminated TLS.
 */
function requireSameOrigin(headers: IncomingHttpHeaders): void {
  const site = headers["sec-fetch-site"];
  // HTTP/2 has `:authority` instead of `Host`.
  const host = headers.host ?? headers[":authority"]?.toString();
  if (site === undefined ? isSameHost(headers.origin, host) : site === "same-origin") return;
  throw new HttpError(403, "CROSS_SITE", "only the dashboard's own page may send this request");
}

function isSameHost(origin: string | undefined, host: string | undefined): boolean {
  if (origin === undefined || host === undefined || !/^https?:\/\//.test(origin)) return false;
  const own = `http://${host}`;
  return URL.canParse(origin) && URL.canParse(own) && new URL(origin).host === new URL(own).host;
}
