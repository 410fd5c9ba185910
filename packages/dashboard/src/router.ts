import { codeOf, emitWarning, formatReceived } from "@headgate/core/internal";
import { requireSameOrigin } from "./access/same-origin.ts";
import { seenBy } from "./access/visible-to.ts";
import type { Visitor } from "./access/visitor.ts";
import { readPermission } from "./access/visitor.ts";
import { READS, WRITES } from "./api-routes.ts";
import type { Dashboard } from "./dashboard.ts";
import { jsonAnswer, refusedAnswer, textAnswer } from "./serve/answers.ts";
import type { Answer, Exchange } from "./serve/exchange.ts";
import { readBody } from "./serve/read-body.ts";
import { Refusal } from "./serve/refusal.ts";

const NO_FILES =
  "The dashboard's files are missing. They are in the folder dist/page of @headgate/dashboard: if a bundler put the application into files of its own, copy that folder beside them, and name the copy in the option `files`.";

/** Answers a request; undefined if the application has answered it. Never rejects. */
export async function answer(
  dashboard: Dashboard,
  exchange: Exchange,
): Promise<Answer | undefined> {
  try {
    return await route(dashboard, exchange);
  } catch (error) {
    if (exchange.isAnswered()) return undefined;
    return refusedAnswer(error instanceof Refusal ? error : refusalOf(error));
  }
}

async function route(dashboard: Dashboard, exchange: Exchange): Promise<Answer | undefined> {
  const { path, query, raw } = exchange;
  if (path.startsWith("assets/")) {
    requireMethod(raw.method, ["GET", "HEAD"]);
    return fileAnswer(dashboard, exchange, path) ?? textAnswer(404, "There is no such file.");
  }
  if (path.startsWith("api/")) return api(dashboard, exchange, path.slice("api/".length));
  const isPage = path === "" || path === "index.html";
  if (isPage && query.has("slash")) {
    requireMethod(raw.method, ["GET", "HEAD"]);
    return fileAnswer(dashboard, exchange, "slash.js") ?? textAnswer(503, NO_FILES);
  }
  if (!isPage) return textAnswer(404, "There is no such page.");
  requireMethod(raw.method, ["GET", "HEAD"]);
  const visitor = await visit(dashboard, exchange);
  if (visitor === undefined) return undefined;
  return fileAnswer(dashboard, exchange, "index.html") ?? textAnswer(503, NO_FILES);
}

async function api(
  dashboard: Dashboard,
  exchange: Exchange,
  name: string,
): Promise<Answer | undefined> {
  const { raw, query } = exchange;
  const read = Object.hasOwn(READS, name) ? READS[name] : undefined;
  const write = Object.hasOwn(WRITES, name) ? WRITES[name] : undefined;
  const visitor = await visit(dashboard, exchange);
  if (visitor === undefined) return undefined;
  const asking = { dashboard, visitor, reading: seenBy(dashboard.reading, visitor) };
  if (read !== undefined) {
    requireMethod(raw.method, ["GET", "HEAD"]);
    return jsonAnswer(await read(asking, query));
  }
  if (write === undefined) throw new Refusal(404, "NOT_FOUND", "there is no such endpoint");
  requireMethod(raw.method, ["POST"]);
  requireSameOrigin(raw.headers);
  return jsonAnswer(await write(asking, await readBody(exchange)));
}

/** The visitor; undefined if the application has answered the request itself. */
async function visit(dashboard: Dashboard, exchange: Exchange): Promise<Visitor | undefined> {
  try {
    const permission = await exchange.authorize();
    if (exchange.isAnswered()) return undefined;
    return readPermission(permission, dashboard.createBreaker !== undefined);
  } catch (error) {
    if (exchange.isAnswered()) return undefined;
    if (error instanceof Refusal) throw error;
    // The application's own error, even if it is one of Headgate's: its text is not for visitors.
    tell(error);
    throw failed();
  }
}

function fileAnswer(
  { files }: Dashboard,
  { raw: { headers } }: Exchange,
  path: string,
): Answer | undefined {
  const known = headers["if-none-match"];
  return files.answer(path, String(headers["accept-encoding"] ?? ""), known);
}

function requireMethod(method: string | undefined, allowed: readonly string[]): void {
  if (allowed.includes(method ?? "")) return;
  const allow = allowed.join(", ");
  throw new Refusal(405, "METHOD_NOT_ALLOWED", `only ${allow}`, { headers: { allow } });
}

/** Operators' errors whose message is about the visitor's input. */
const INPUT: readonly string[] = [
  "HEADGATE_INVALID_OPTION",
  "HEADGATE_INVALID_LIMIT",
  "HEADGATE_INVALID_COST",
  "HEADGATE_EMPTY_KEY",
  "HEADGATE_INVALID_KEY",
];

/** Errors of Redis, in words that name neither a server nor a user. */
const STORE: Readonly<Record<string, string>> = {
  HEADGATE_STORE_UNAVAILABLE: "Redis did not answer",
  HEADGATE_SLOT_UNAVAILABLE: "Redis did not answer for this cluster slot",
  HEADGATE_STORE_MISCONFIGURED: "Redis, as it is configured, refuses this",
  HEADGATE_CONTROL_DAMAGED: "the control record in Redis cannot be read",
  HEADGATE_WRONG_TYPE: "a key of Headgate in Redis holds something else",
  HEADGATE_BAD_REPLY: "Redis gave a reply that makes no sense",
};

function refusalOf(error: unknown): Refusal {
  const code = codeOf(error);
  if (code !== undefined) {
    const words = STORE[code];
    if (words !== undefined) return new Refusal(503, code, words);
    if (INPUT.includes(code)) return new Refusal(400, code, (error as Error).message);
  }
  tell(error);
  return failed();
}

function failed(): Refusal {
  return new Refusal(500, "FAILED", "the server could not answer");
}

/** When each text was last logged for the application's operator. */
const told = new Map<string, number>();

const TELL_AGAIN_MS = 60_000;

/** Logs errors for the application's operator that are hidden from visitors: the same text at most once a minute. */
function tell(error: unknown): void {
  const text = error instanceof Error ? error.message : formatReceived(error);
  const now = performance.now();
  for (const [known, at] of told) if (now - at >= TELL_AGAIN_MS) told.delete(known);
  if (told.has(text) || told.size >= 20) return;
  told.set(text, now);
  const detail = error instanceof Error ? error.stack : undefined;
  emitWarning(
    "HEADGATE_DASHBOARD_FAILED",
    `the dashboard could not answer a request: ${text}`,
    detail,
  );
}
