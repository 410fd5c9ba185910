import { readFileSync } from "node:fs";
import type { IncomingMessage, Server, ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { extname, join, normalize } from "node:path";
import type { Session } from "../../../packages/dashboard/src/api.ts";
import { recordingAt } from "../support/demo-fleet/recording.ts";

const PAGE = join(import.meta.dirname, "../../../packages/dashboard/dist/page");

const TYPES: Readonly<Record<string, string>> = {
  ".html": "text/html; charset=utf-8",
  ".js": "text/javascript; charset=utf-8",
  ".css": "text/css; charset=utf-8",
  ".svg": "image/svg+xml",
};

/** The same Content-Security-Policy as the dashboard's server sends. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** A response instead of the fictional fleet's own. */
export interface OverriddenResponse {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

/** A server of the page with a fictional fleet, under `/limits/`. */
export interface DemoServer {
  readonly url: string;
  /** The requests since the start, such as `GET overview`. */
  readonly requests: string[];
  /** Responses that replace those of the fleet, by the last part of the path. */
  readonly overrides: Map<string, OverriddenResponse>;
  /** Replaces fields of the fictional fleet's session. */
  session: Partial<Session>;
  /** Changes the texts of all responses. */
  rename: ((text: string) => string) | undefined;
  close(): Promise<void>;
}

export async function serveDemo(): Promise<DemoServer> {
  const requests: string[] = [];
  const overrides = new Map<string, OverriddenResponse>();
  const demo: DemoServer = {
    url: "",
    requests,
    overrides,
    session: {},
    rename: undefined,
    close: () => closeAll(server),
  };
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? "/", "http://demo").pathname.replace(/^\/limits\//, "");
    if (!path.startsWith("api/")) {
      serveFile(path, response);
      return;
    }
    requests.push(`${request.method} ${path.slice(4)}`);
    void answerApi(request, demo).then(({ status, body, headers }) => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      const { rename } = demo;
      response.end(JSON.stringify(rename ? renamed(body, rename) : body));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  return Object.assign(demo, { url: `http://127.0.0.1:${port}/limits/` });
}

/** A copy with every text changed. */
function renamed(value: unknown, rename: (text: string) => string): unknown {
  if (typeof value === "string") return rename(value);
  if (Array.isArray(value)) return value.map((one) => renamed(one, rename));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [name, renamed(one, rename)]),
  );
}

function closeAll(server: Server): Promise<void> {
  server.closeAllConnections();
  return new Promise((resolve) => server.close(() => resolve()));
}

function serveFile(path: string, response: ServerResponse): void {
  const file = path === "" ? "index.html" : normalize(path).replace(/^(\.\.[/\\])+/, "");
  try {
    const body = readFileSync(join(PAGE, file));
    response.writeHead(200, {
      "content-type": TYPES[extname(file)] ?? "application/octet-stream",
      "content-security-policy": POLICY,
    });
    response.end(body);
  } catch {
    response.writeHead(404).end();
  }
}

async function answerApi(request: IncomingMessage, demo: DemoServer): Promise<OverriddenResponse> {
  const { pathname, searchParams } = new URL(request.url ?? "/", "http://demo");
  const endpoint = pathname.split("/").at(-1) ?? "";
  const override = demo.overrides.get(endpoint);
  if (override) return override;
  const body = request.method === "POST" ? await bodyOf(request) : {};
  const found = answerOf(endpoint, searchParams, body, demo);
  return found === undefined
    ? { status: 404, body: { error: { code: "NOT_FOUND", message: "" } } }
    : { status: 200, body: found };
}

type Body = Readonly<Record<string, unknown>>;

function answerOf(endpoint: string, query: URLSearchParams, body: Body, demo: DemoServer): unknown {
  const recording = recordingAt(Date.now());
  const span = (query.get("span") ?? "1h") as "1h";
  switch (endpoint) {
    case "session":
      return { ...recording.session, ...demo.session };
    case "overview":
      return recording.overview[span];
    case "limiter":
      return recording.limiters[query.get("name") ?? ""]?.[span];
    case "subject": {
      const text = String(body["subject"]);
      const client = { kind: "text", text };
      const none = { at: recording.at, client, limiters: [], skipped: [], denyList: [] };
      return recording.subjects[text] ?? none;
    }
    case "preview":
      return recording.previews[kindOf(body)];
    case "act": {
      const { before, after, effectiveAt } = recording.previews[kindOf(body)] ?? {};
      return { before, after, effectiveAt, at: recording.at };
    }
    default:
      return (recording as unknown as Record<string, unknown>)[endpoint];
  }
}

function kindOf(body: Body): string {
  return (body["action"] as { kind: string }).kind;
}

async function bodyOf(request: IncomingMessage): Promise<Body> {
  let text = "";
  for await (const chunk of request) text += chunk;
  return JSON.parse(text) as Body;
}
