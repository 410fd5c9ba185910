import { channel } from "node:diagnostics_channel";
import type { Decision } from "@headgate/core";
import { PROBLEM_JSON, toProblem } from "@headgate/core/http";
import { publish, rejectCloseOptions } from "@headgate/core/internal";
import { toError, watchResponse } from "@headgate/core/internal-http";
import type { LoadStatus, ShedRequest } from "./channels.ts";
import { SHED_CHANNELS } from "./channels.ts";
import type {
  Exchange,
  FastifyPluginLike,
  HonoMiddlewareLike,
  NodeRequest,
  NodeResponse,
  ShedResponse,
} from "./frameworks.ts";
import { doNothing, toFastifyPlugin, toHonoMiddleware } from "./frameworks.ts";
import type { ShedDecision } from "./law/admission.ts";
import { Admission } from "./law/admission.ts";
import type { EventLoop } from "./law/event-loop.ts";
import type { Priority } from "./law/line.ts";
import type { LoadReport } from "./law/load-monitor.ts";
import { nodeEventLoop, outsideRequests } from "./node-event-loop.ts";
import type { LoadShedderOptions, Settings, SubjectOf } from "./options.ts";
import { readOptions } from "./options.ts";
import { ShedTally } from "./shed-tally.ts";
import { WaitingRequest } from "./waiting-request.ts";

/** Middleware for Express 4 and 5, NestJS and `node:http`; its properties are for other frameworks. */
export interface LoadShedder<Request = NodeRequest> {
  /** Calls `next` now or later, with an error if a function of the options failed; or responds with status 503. */
  (req: Request & NodeRequest, res: NodeResponse, next: (error?: unknown) => unknown): void;
  /** Fastify's plugin: `app.register(shed.fastify)`, before other plugins. */
  readonly fastify: FastifyPluginLike;
  /** Hono's middleware on Node: `app.use(shed.hono)`. Without a server of Node's, as in `app.request`, requests pass. */
  readonly hono: HonoMiddlewareLike<Request>;
  /** The load of this process now. */
  status(): LoadStatus;
  /** Puts no more requests in line, and resolves when none is left in it. Later requests pass. */
  close(...ignored: unknown[]): Promise<void>;
}

/**
 * Keeps this process useful while requests arrive faster than it can handle them: they wait in line, and are shed once
 * they have waited too long. `Request` is what the functions in the options get: Node's request, `loadShedder<Context>()` for Hono.
 * Throws `HEADGATE_INVALID_OPTION`.
 */
export function loadShedder<Request extends object = NodeRequest>(
  options: LoadShedderOptions<Request> = {},
): LoadShedder<Request> {
  return createLoadShedder(options, nodeEventLoop);
}

const REQUESTS = channel(SHED_CHANNELS.request);
const LOAD = channel(SHED_CHANNELS.load);

/** A load shedder on any event loop. */
export function createLoadShedder<Request extends object>(
  options: LoadShedderOptions<Request>,
  loop: EventLoop,
): LoadShedder<Request> {
  const settings = readOptions(options) as Settings<object>;
  const { dryRun, maxInFlight, maxWaitMs, priorityOf, subjectOf, trustStartHeader } = settings;
  let status = calmStatus(settings);
  let closing: Promise<void> | undefined;
  /** On the requests that this shedder has seen: mounted twice, it would count a request twice, and let it wait for itself. */
  const seen: unique symbol = Symbol("headgate.shed") as never;

  function onReport(report: LoadReport): void {
    status = nextStatus(status, report);
    if (LOAD.hasSubscribers) outsideRequests.runInAsyncScope(publish, undefined, LOAD, status);
  }

  const tally = new ShedTally(settings.name, dryRun);

  function onShed(decision: ShedDecision): void {
    tally.count(decision);
    if (!REQUESTS.hasSubscribers) return;
    const request = decision.request as WaitingRequest;
    request.runInAsyncScope(publish, undefined, REQUESTS, toMessage(settings, decision));
  }

  const admission = new Admission(loop, { maxWaitMs, maxInFlight, dryRun, onShed, onReport });
  const servers = createServerWatch(() => admission.noteConnection());

  /** Handles a request now or later, or responds that it is shed. */
  function enter(exchange: Exchange): void {
    const req: NodeRequest & { [seen]?: boolean } = exchange.req;
    if (closing !== undefined || req[seen] === true) {
      exchange.next();
      return;
    }
    req[seen] = true;
    servers.watch(req);
    const elapsed = trustStartHeader ? admission.elapsed(startHeaderOf(req)) : 0;
    if (!admission.admitsAtOnce()) defer(exchange, elapsed);
    else if (subjectOf === undefined) run(exchange);
    else runMeasured(exchange, subjectOf);
  }

  function defer(exchange: Exchange, elapsed: number): void {
    let priority: Priority;
    let subject: string | undefined;
    try {
      priority = priorityOf(exchange.request);
      subject = subjectOf?.(exchange.request, addressOf(exchange));
    } catch (reason) {
      exchange.next(toError(reason));
      return;
    }
    const arrivedAt = admission.arrivalTime(elapsed);
    admission.defer(new WaitingRequest(exchange, priority, subject, arrivedAt, run));
  }

  function run({ res, next }: Exchange): void {
    if (maxInFlight !== Number.POSITIVE_INFINITY) {
      admission.begin();
      watchEnd(res, admission.end);
    }
    next();
  }

  function runMeasured(exchange: Exchange, subjectOf: SubjectOf): void {
    let subject: string | undefined;
    try {
      subject = subjectOf(exchange.request, addressOf(exchange));
    } catch (reason) {
      exchange.next(toError(reason));
      return;
    }
    const startedAt = loop.now();
    try {
      run(exchange);
    } finally {
      if (subject !== undefined) admission.charge(subject, loop.now() - startedAt);
    }
  }

  const response = toResponse(settings);

  function middleware(
    req: Request & NodeRequest,
    res: NodeResponse,
    next: (error?: unknown) => unknown,
  ): void {
    const reject = (): void => {
      try {
        res.writeHead(response.status, response.headers);
        res.end(response.body);
      } catch (reason) {
        // Other middleware may have replaced these methods. Nothing else would catch their errors: this is a later turn of the loop.
        next(toError(reason));
      }
    };
    enter({ req, res, request: req, next, reject, drop: doNothing });
  }

  return Object.assign(middleware, {
    fastify: toFastifyPlugin(enter, response),
    hono: toHonoMiddleware(enter, response),
    status: () => nextStatus(status, admission.load()),
    close(...ignored: unknown[]): Promise<void> {
      rejectCloseOptions(ignored);
      tally.remove();
      servers.stop();
      closing ??= new Promise((resolve) => admission.drain(resolve));
      return closing;
    },
  });
}

/** The client's address, by the framework's proxy trust if it has one. */
function addressOf({ request, req }: Exchange): string | undefined {
  return (request as { readonly ip?: string | undefined }).ip ?? req.socket.remoteAddress;
}

/**
 * Calls back once, when a response has been ended or its client has disconnected. A pipelined response that was ended may wait for
 * earlier ones on its connection, which may be in line themselves: if it counted until it is sent, they would wait for each other.
 */
function watchEnd(res: NodeResponse, callback: () => void): void {
  let isOver = false;
  const end = (): void => {
    if (isOver) return;
    isOver = true;
    callback();
  };
  watchResponse(res, { onEnded: end, onDisconnected: end });
}

function startHeaderOf({ headers }: NodeRequest): string | undefined {
  // Node joins the values of a header that was sent twice, which is then no time.
  const header = headers["x-request-start"];
  return typeof header === "string" ? header : undefined;
}

/**
 * Reports new connections of the servers whose requests it is called with. Node accepts one connection in each turn of the loop, and
 * reads its request in the next, so a turn that brought a connection may have left others in the kernel.
 */
function createServerWatch(onConnection: () => void) {
  /** What forgets a server, by the server: one that is closed may be one of many, as in tests. */
  const watched = new Map<NodeJS.EventEmitter, () => void>();
  let last: unknown;

  function add(server: NodeJS.EventEmitter): void {
    const forget = (): void => {
      server.off("connection", onConnection).off("close", forget);
      watched.delete(server);
      if (last === server) last = undefined;
    };
    watched.set(server, forget);
    server.on("connection", onConnection).on("close", forget);
  }

  return {
    watch({ socket }: NodeRequest): void {
      const { server } = socket as { readonly server?: NodeJS.EventEmitter };
      if (server === last || typeof server?.on !== "function") return;
      last = server;
      if (!watched.has(server)) add(server);
    },
    stop(): void {
      for (const forget of [...watched.values()]) forget();
    },
  };
}

/** A denial by no limit: its problem is `temporary-reduced-capacity` of draft-ietf-httpapi-ratelimit-headers-11. */
const NO_CAPACITY = { source: "deny", limits: [] } as unknown as Decision;

function toResponse({ retryAfterSeconds }: Settings<object>): ShedResponse {
  const problem = toProblem(NO_CAPACITY);
  const body = JSON.stringify(problem);
  const headers = {
    "Content-Type": PROBLEM_JSON,
    "Content-Length": String(Buffer.byteLength(body)),
    "Cache-Control": "no-store",
    "Retry-After": String(retryAfterSeconds),
  };
  return { status: problem.status, headers, body };
}

function toMessage({ name, dryRun }: Settings<object>, decision: ShedDecision): ShedRequest {
  const { request, priority, subject } = decision.request;
  return {
    shedder: name,
    priority,
    subject,
    reason: decision.reason,
    waitMs: Math.round(decision.waitMs),
    limitMs: Math.round(decision.limitMs),
    dryRun,
    request,
  };
}

function calmStatus({ name, dryRun, maxWaitMs }: Settings<object>): LoadStatus {
  return {
    shedder: name,
    state: "calm",
    before: "calm",
    since: Date.now(),
    waiting: 0,
    longestWaitMs: 0,
    limitMs: maxWaitMs,
    deferred: 0,
    shed: 0,
    dryRun,
  };
}

function nextStatus(status: LoadStatus, report: LoadReport): LoadStatus {
  return {
    ...status,
    ...report,
    since: report.state === status.state ? status.since : Date.now(),
    longestWaitMs: Math.round(report.longestWaitMs),
    limitMs: Math.round(report.limitMs),
  };
}
