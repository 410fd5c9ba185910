import { HeadgateError } from "@headgate/core";
import { formatCount } from "../format/number.ts";
import type { LogEntry } from "../log/log-entry.ts";
import { heapBytesFor, MemoryBudget } from "../log/memory-budget.ts";
import { ClientTable } from "../replay/client-table.ts";
import { shortPath, shortText } from "../replay/denied-requests.ts";
import { TextTable } from "./text-table.ts";

/** The most requests, which take 1.6 GB. */
const MAX_REQUESTS = 100_000_000;

/** The share of the heap for clients that paths may use, and the same for agents. */
const TEXT_SHARE = 1 / 16;

/** Requests in the order of their times, as 16 bytes each. Paths have no queries. */
export class Recording {
  /** It may use half of the memory for clients, because a replay of the recording has its own table. */
  readonly #clients: ClientTable = new ClientTable(new MemoryBudget(heapBytesFor("clients") / 2));
  readonly #paths: TextTable = new TextTable(heapBytesFor("clients") * TEXT_SHARE);
  readonly #agents: TextTable = new TextTable(heapBytesFor("clients") * TEXT_SHARE);
  #times: Float64Array = new Float64Array(1_024);
  #clientNumbers: Uint32Array = new Uint32Array(1_024);
  #pathNumbers: Uint16Array = new Uint16Array(1_024);
  #agentNumbers: Uint16Array = new Uint16Array(1_024);
  #length = 0;
  #highest = -1;

  get clients(): ClientTable {
    return this.#clients;
  }

  get length(): number {
    return this.#length;
  }

  /** An upper bound for the numbers of clients and subjects. */
  get clientNumbers(): number {
    return this.#highest + 1;
  }

  /** Adds requests. Throws `HEADGATE_LOG_TOO_LARGE` if there are too many. */
  add(requests: readonly LogEntry[]): void {
    const length = this.#length + requests.length;
    if (length > MAX_REQUESTS) {
      throw new HeadgateError(
        "HEADGATE_LOG_TOO_LARGE",
        `more than ${formatCount(MAX_REQUESTS)} requests: use a part of the log`,
      );
    }
    if (length > this.#times.length) this.#grow(Math.max(length, this.#times.length * 2));
    for (const { time, client, path, agent } of requests) {
      this.#times[this.#length] = time;
      this.#pathNumbers[this.#length] = this.#paths.add(shortPath(path));
      this.#agentNumbers[this.#length] = this.#agents.add(shortText(agent));
      const number = this.#clients.add(client);
      this.#highest = Math.max(this.#highest, number, this.#clients.subjectOf(number));
      this.#clientNumbers[this.#length] = number;
      this.#length += 1;
    }
  }

  /** Milliseconds since the epoch. */
  timeOf(request: number): number {
    return this.#times[request] as number;
  }

  clientOf(request: number): number {
    return this.#clientNumbers[request] as number;
  }

  subjectOf(request: number): number {
    return this.#clients.subjectOf(this.#clientNumbers[request] as number);
  }

  /** A request as an entry of a log. */
  entryOf(request: number): LogEntry {
    return {
      time: this.timeOf(request),
      client: this.#clients.nameOf(this.clientOf(request)),
      path: this.#paths.textOf(this.#pathNumbers[request] as number),
      agent: this.#agents.textOf(this.#agentNumbers[request] as number),
    };
  }

  #grow(length: number): void {
    const times = new Float64Array(length);
    const clients = new Uint32Array(length);
    const [paths, agents] = [new Uint16Array(length), new Uint16Array(length)];
    times.set(this.#times);
    clients.set(this.#clientNumbers);
    paths.set(this.#pathNumbers);
    agents.set(this.#agentNumbers);
    this.#times = times;
    this.#clientNumbers = clients;
    this.#pathNumbers = paths;
    this.#agentNumbers = agents;
  }
}

/** A range of the requests of a recording. */
export interface RecordingRange {
  readonly recording: Recording;
  /** The index of the first request. */
  readonly start: number;
  /** The index after the last request. */
  readonly end: number;
}

export function wholeRange(recording: Recording): RecordingRange {
  return { recording, start: 0, end: recording.length };
}

/**
 * The earlier and the later half of a recording. Requests with the same time stay together. Undefined if all requests have the same
 * time.
 */
export function splitInHalf(
  recording: Recording,
): readonly [earlier: RecordingRange, later: RecordingRange] | undefined {
  const { length } = recording;
  const middle = Math.floor(length / 2);
  let cut = middle;
  while (cut > 0 && hasSameTime(recording, cut)) cut -= 1;
  if (cut === 0) {
    cut = middle;
    while (cut < length && hasSameTime(recording, cut)) cut += 1;
  }
  if (cut === 0 || cut >= length) return undefined;
  return [
    { recording, start: 0, end: cut },
    { recording, start: cut, end: length },
  ];
}

function hasSameTime(recording: Recording, request: number): boolean {
  return recording.timeOf(request) === recording.timeOf(request - 1);
}

/** The first and the last time of a range that is not empty, in milliseconds since the epoch. */
export function timeSpanOf({ recording, start, end }: RecordingRange): {
  from: number;
  to: number;
} {
  return { from: recording.timeOf(start), to: recording.timeOf(end - 1) };
}

/** Counts the distinct clients of a range. */
export function countClients({ recording, start, end }: RecordingRange): number {
  const known = new Uint8Array(recording.clientNumbers);
  let count = 0;
  for (let request = start; request < end; request += 1) {
    const client = recording.clientOf(request);
    count += 1 - (known[client] as number);
    known[client] = 1;
  }
  return count;
}

/**
 * The most requests of each subject of a range within any window, by the number of the subject; 0 for subjects without requests. The
 * window is in milliseconds, and includes its end, but not its start.
 */
export function subjectPeaks(
  { recording, start, end }: RecordingRange,
  window: number,
): Uint32Array {
  const inside = new Uint32Array(recording.clientNumbers);
  const peaks = new Uint32Array(recording.clientNumbers);
  let first = start;
  for (let request = start; request < end; request += 1) {
    const left = recording.timeOf(request) - window;
    for (; recording.timeOf(first) <= left; first += 1) {
      (inside[recording.subjectOf(first)] as number) -= 1;
    }
    const subject = recording.subjectOf(request);
    const count = (inside[subject] as number) + 1;
    inside[subject] = count;
    if (count > (peaks[subject] as number)) peaks[subject] = count;
  }
  return peaks;
}
