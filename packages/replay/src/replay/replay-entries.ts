import type { LogEntry } from "../log/log-entry.ts";
import { heapBytesFor, MemoryBudget } from "../log/memory-budget.ts";
import type { LoggedRequests } from "../log/read-log.ts";
import { ClientTable } from "./client-table.ts";
import { describePolicy } from "./describe-policy.ts";
import { Peaks } from "./peaks.ts";
import type { ReplayPolicy } from "./policies.ts";
import { describeLimits } from "./policies.ts";
import type { PolicyRun, ReplayDecision } from "./policy-run.ts";
import type { DeniedClient, PolicyResult, ReplayResult } from "./result.ts";
import { Tally } from "./tally.ts";
import { MAX_COLUMNS, Timelines } from "./timelines.ts";
import { clientAt, deniedAt, Trace, timeAt } from "./trace.ts";

/** The most clients listed for each policy. */
const MAX_CLIENTS = 1_000;

/** The most clients with a timeline. */
const MAX_TIMELINES = 20;

/** The most requests decided at once. */
const MAX_BATCH = 256;

interface Options {
  readonly policies: readonly ReplayPolicy[];
  /** One run for each policy, in the same order. */
  readonly runs: readonly PolicyRun[];
  /** Sets the clock of the stores. */
  readonly onTime: (time: number) => void;
  readonly signal?: AbortSignal | undefined;
  /** Bytes of the heap for clients and their denials. Default: the whole share of clients. */
  readonly clientBytes?: number;
}

/** Replays requests under several policies, each at its own time. Throws the errors of the log, and the signal's reason. */
export async function replayEntries(
  requests: LoggedRequests,
  options: Options,
): Promise<ReplayResult> {
  const replaying = new Replay(options);
  for await (const some of requests) await replaying.add(some);
  return replaying.result(requests);
}

class Replay {
  readonly #options: Options;
  readonly #clients: ClientTable;
  readonly #trace = new Trace();
  readonly #peaks: Peaks;
  readonly #tallies: readonly Tally[];
  /** All requests, and the denials of each policy. */
  readonly #timelines: Timelines;
  #requests = 0;
  #from: number | null = null;
  #to: number | null = null;

  constructor(options: Options) {
    const budget = new MemoryBudget(options.clientBytes ?? heapBytesFor("clients"));
    this.#options = options;
    this.#clients = new ClientTable(budget);
    this.#tallies = options.policies.map(() => new Tally(budget));
    this.#timelines = new Timelines(options.policies.length + 1);
    this.#peaks = new Peaks(windowsOf(options.policies), this.#trace, this.#clients);
  }

  async add(requests: readonly LogEntry[]): Promise<void> {
    let start = 0;
    while (start < requests.length) {
      const { time } = requests[start] as LogEntry;
      let end = start + 1;
      while (end < requests.length && end - start < MAX_BATCH && requests[end]?.time === time) {
        end += 1;
      }
      await this.#decide(requests.slice(start, end), time);
      start = end;
    }
  }

  /** Decides requests that have the same time. */
  async #decide(requests: readonly LogEntry[], time: number): Promise<void> {
    const { runs, onTime, signal } = this.#options;
    signal?.throwIfAborted();
    onTime(time);
    const clients = requests.map(({ client }) => this.#clients.add(client));
    const subjects = clients.map((client) => this.#clients.nameOf(this.#clients.subjectOf(client)));
    const decisions: (readonly ReplayDecision[])[] = [];
    for (const run of runs) decisions.push(await run.decide(subjects, requests));
    const column = this.#timelines.columnAt(time);
    for (let i = 0; i < clients.length; i += 1)
      this.#count(clients[i] as number, requests[i] as LogEntry, i, decisions, time, column);
    this.#requests += clients.length;
    this.#from ??= time;
    this.#to = time;
  }

  #count(
    client: number,
    request: LogEntry,
    i: number,
    decisions: readonly (readonly ReplayDecision[])[],
    time: number,
    column: number,
  ): void {
    let denied = 0;
    this.#timelines.count(0, column);
    for (let p = 0; p < decisions.length; p += 1) {
      const decision = decisions[p]?.[i] as ReplayDecision;
      const tally = this.#tallies[p] as Tally;
      if (decision.allowed) {
        tally.allowed += 1;
        continue;
      }
      denied |= 1 << p;
      tally.deny(client, time, decision.retryAfterMs);
      tally.deniedRequests.add(client, request);
      this.#timelines.count(p + 1, column);
    }
    if (this.#trace.isFull(time)) {
      this.#peaks.removeFirstBlock(time);
      this.#trace.drop();
    }
    this.#trace.add(time, client, denied);
    this.#peaks.add(time, client);
  }

  result(requests: LoggedRequests): ReplayResult {
    return {
      log: {
        ...requests.counts(),
        requests: this.#requests,
        clients: this.#clients.count,
        from: this.#from,
        to: this.#to,
      },
      columnMs: this.#timelines.columnMs,
      timeline: this.#timelines.read(0),
      policies: this.#tallies.map((tally, p) => this.#policyResult(tally, p)),
      peaks: this.#peaks.read(),
    };
  }

  #policyResult(tally: Tally, p: number): PolicyResult {
    const { name, limits } = this.#options.policies[p] as ReplayPolicy;
    return {
      name,
      limits,
      description: describePolicy(limits),
      allowed: tally.allowed,
      denied: tally.denied,
      clientsDenied: tally.clientsDenied,
      timeline: this.#timelines.read(p + 1),
      clients: this.#deniedClients(tally, p),
      waitsMs: tally.waits.percentiles(),
      evicted: this.#options.runs[p]?.evicted() ?? 0,
    };
  }

  #deniedClients(tally: Tally, p: number): DeniedClient[] {
    const clients = tally.mostDenied(MAX_CLIENTS, (client) => this.#clients.nameOf(client));
    const timelines = this.#timelinesOf(
      clients.slice(0, MAX_TIMELINES).map(({ client }) => client),
      p,
    );
    return clients.map(({ client, denied, firstAt, lastAt, longestWaitMs }, i) => ({
      client: this.#clients.nameOf(client),
      requests: this.#clients.requestsOf(client),
      denied,
      firstDeniedAt: firstAt,
      lastDeniedAt: lastAt,
      longestWaitMs,
      ...tally.deniedRequests.of(client),
      ...(timelines[i] && { timeline: timelines[i] }),
    }));
  }

  /** The requests and denials of clients by column; empty if the trace has dropped the beginning. */
  #timelinesOf(clients: readonly number[], p: number): NonNullable<DeniedClient["timeline"]>[] {
    if (!this.#trace.isWhole || clients.length === 0) return [];
    const counts = new Map(
      clients.map((client) => [
        client,
        { requests: new Uint32Array(MAX_COLUMNS), denied: new Uint32Array(MAX_COLUMNS) },
      ]),
    );
    for (const block of this.#trace.blocks) {
      for (let i = 0; i < block.length; i += 1) {
        const found = counts.get(clientAt(block, i));
        if (found === undefined) continue;
        const column = this.#timelines.columnOf(timeAt(block, i));
        (found.requests[column] as number) += 1;
        if (deniedAt(block, i) & (1 << p)) (found.denied[column] as number) += 1;
      }
    }
    return [...counts.values()].map(({ requests, denied }) => ({
      requests: this.#timelines.cut(requests),
      denied: this.#timelines.cut(denied),
    }));
  }
}

/** The windows of all limits in milliseconds, each once, the shortest first. */
function windowsOf(policies: readonly ReplayPolicy[]): readonly number[] {
  const windows = policies.flatMap(({ limits }) =>
    describeLimits(limits).map(({ windowMs }) => windowMs),
  );
  return [...new Set(windows)].sort((one, other) => one - other);
}
