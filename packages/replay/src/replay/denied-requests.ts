import type { LogEntry } from "../log/log-entry.ts";
import type { DeniedPath } from "./result.ts";

/** When there are more clients than twice this number, only those that were denied most are kept. */
const MAX_CLIENTS = 2_048;

/** The most paths and agents kept of a client; when there are more, the rarest go. */
const MAX_TEXTS = 32;

const MAX_LENGTH = 200;

/** The most paths in a result. */
const MAX_PATHS = 3;

interface ClientRequests {
  denied: number;
  readonly paths: Map<string, number>;
  readonly agents: Map<string, number>;
}

/** The paths and user agents of denied requests by client, which tell a crawler from a customer. */
export class DeniedRequests {
  readonly #clients = new Map<number, ClientRequests>();

  add(client: number, { path, agent }: LogEntry): void {
    let known = this.#clients.get(client);
    if (known === undefined) {
      if (this.#clients.size >= 2 * MAX_CLIENTS) this.#dropRarest();
      known = { denied: 0, paths: new Map(), agents: new Map() };
      this.#clients.set(client, known);
    }
    known.denied += 1;
    countText(known.paths, shortPath(path));
    countText(known.agents, shortText(agent));
  }

  /** The most frequent agent and paths of a client; fields are missing if the log has none. */
  of(client: number): { readonly agent?: string; readonly paths?: readonly DeniedPath[] } {
    const { agents = new Map(), paths = new Map() } = this.#clients.get(client) ?? {};
    const [agent] = mostFrequent(agents);
    const found = mostFrequent(paths).map(([path, denied]) => ({ path, denied }));
    return {
      ...(agent === undefined ? {} : { agent: agent[0] }),
      ...(found.length === 0 ? {} : { paths: found.slice(0, MAX_PATHS) }),
    };
  }

  #dropRarest(): void {
    const sorted = [...this.#clients].sort(([, one], [, other]) => other.denied - one.denied);
    for (const [client] of sorted.slice(MAX_CLIENTS)) this.#clients.delete(client);
  }
}

/** A path as a result has it: without its query, at most 200 characters; empty if the log has none. */
export function shortPath(path = ""): string {
  const query = path.indexOf("?");
  return shortText(query < 0 ? path : path.slice(0, query));
}

/** A user agent as a result has it: at most 200 characters; empty if the log has none. */
export function shortText(text = ""): string {
  if (text === "-") return "";
  return text.length > MAX_LENGTH ? `${text.slice(0, MAX_LENGTH - 1)}…` : text;
}

function countText(counts: Map<string, number>, text: string): void {
  if (text === "") return;
  const before = counts.get(text);
  if (before === undefined && counts.size >= MAX_TEXTS) {
    const least = Math.min(...counts.values());
    for (const [known, count] of counts) if (count === least) counts.delete(known);
  }
  counts.set(text, (before ?? 0) + 1);
}

/** Sorted, the most frequent first; equals by their text. */
function mostFrequent(counts: ReadonlyMap<string, number>): readonly [string, number][] {
  return [...counts].sort(([a, one], [b, other]) => other - one || (a < b ? -1 : 1));
}
