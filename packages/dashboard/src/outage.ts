import type { Store } from "@headgate/core";
import type { Registry, RegistryLimiter } from "@headgate/core/admin";
import { codeOf, ownLimitersOf, requireStore } from "@headgate/core/internal";
import type { Outage } from "./api.ts";

/** The part of a limiter's record that says how it decides while Redis is unavailable. */
type ListedLimiter = Pick<RegistryLimiter, "name" | "onUnavailable" | "localShare">;

/** Follows whether Redis answers this process, and what is known about the limiters in case it does not. */
export class OutageTracker {
  readonly #store: Store;
  #since: number | undefined;
  #known: { readonly limiters: readonly ListedLimiter[]; readonly at: number } | undefined;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Watches a read. Other errors than that of an unavailable store come from a server that answers. */
  async watch<T>(read: Promise<T>): Promise<T> {
    try {
      const result = await read;
      this.#since = undefined;
      return result;
    } catch (error) {
      if (codeOf(error) === "HEADGATE_STORE_UNAVAILABLE") this.#since ??= Date.now();
      else this.#since = undefined;
      throw error;
    }
  }

  /** Remembers the limiters that the registry lists. */
  remember({ limiters }: Registry): void {
    this.#known = { limiters, at: Date.now() };
  }

  /** The outage in progress; undefined if Redis answered last, or was never asked. */
  current(): Outage | undefined {
    if (this.#since === undefined) return undefined;
    // Before the registry was read, the limiters of this process are the only ones that are known.
    const known = this.#known ?? { limiters: ownLimitersOf(requireStore(this.#store)), at: null };
    return {
      since: this.#since,
      at: Date.now(),
      ...addressesOf(requireStore(this.#store).owner),
      limiters: known.limiters.map(({ name, onUnavailable, localShare }) => ({
        name,
        onUnavailable,
        localShare: localShare ?? null,
      })),
      listedAt: known.at,
    };
  }
}

/** The parts of the clients ioredis and node-redis, alone or for a cluster or a sentinel, that name servers. */
interface AddressedClient {
  readonly options?: Endpoint & {
    /** ioredis with sentinels. */
    readonly sentinels?: readonly Endpoint[] | null;
    /** node-redis. */
    readonly socket?: Endpoint;
  };
  /** ioredis for a cluster. */
  readonly startupNodes?: readonly unknown[];
  /** node-redis for a cluster. */
  readonly masters?: readonly { readonly address?: unknown }[];
}

interface Endpoint {
  readonly host?: unknown;
  readonly port?: unknown;
  readonly path?: unknown;
}

/** The most servers that are named. */
const MAX_SERVERS = 10;

/**
 * The addresses to which a client connects, without credentials; none if the client does not tell. Through sentinels and the first
 * nodes of a cluster, it finds the servers that it then connects to.
 */
export function addressesOf(client: object): Pick<Outage, "servers" | "isDirect"> {
  const { options = {}, startupNodes, masters } = client as AddressedClient;
  const { sentinels, socket } = options;
  const seeds = startupNodes ?? sentinels;
  const endpoints = seeds ?? masters?.map(({ address }) => address) ?? [socket ?? options];
  const servers = endpoints.flatMap((endpoint) => formatEndpoint(endpoint) ?? []);
  return { servers: servers.slice(0, MAX_SERVERS), isDirect: !seeds };
}

function formatEndpoint(endpoint: unknown): string | undefined {
  if (typeof endpoint === "number") return `127.0.0.1:${endpoint}`;
  if (typeof endpoint === "string") return hostOf(endpoint);
  const { host, port, path } = (endpoint ?? {}) as Endpoint;
  if (typeof path === "string" && path !== "") return path;
  const isHost = typeof host === "string" && host !== "";
  return isHost || port !== undefined
    ? `${isHost ? host : "127.0.0.1"}:${typeof port === "number" || typeof port === "string" ? port : 6379}`
    : undefined;
}

/**
 * The host and port of a URL, whose scheme may be missing as in ioredis. Never another part, because each may hold a password; and
 * undefined if there is no host.
 */
function hostOf(text: string): string | undefined {
  const scheme = text.includes("://") ? "" : text.startsWith("//") ? "redis:" : "redis://";
  const url = `${scheme}${text}`;
  return URL.canParse(url) ? new URL(url).host || undefined : undefined;
}
