import { CommandError } from "../command/command-error.ts";

/** A host and its port, which is 0 if the URL has none. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Credentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** A parsed Redis URL. */
export interface RedisUrl {
  /** One server, several cluster nodes or Sentinels; empty for a unix socket. */
  readonly addresses: readonly Address[];
  /** The path of a unix socket. */
  readonly path?: string | undefined;
  readonly isTls: boolean;
  readonly database: number;
  readonly credentials: Credentials;
}

const URL_FORMS =
  "redis://HOST:PORT/DATABASE, rediss://HOST:PORT/DATABASE for TLS, several hosts with commas between them, or the path of a unix socket";

/** Captures the s of rediss, the user info, the hosts and the database. */
const URL_OF_HOSTS = /^redis(s?):\/\/(?:([^@/]*)@)?([^@/?#]*)(?:\/(\d*))?$/i;

const URL_OF_SOCKET = /^(?:(?:redis\+)?unix:\/\/)?(\/[^?]*)(?:\?db=(\d+))?$/i;

/** Parses a URL. Throws a `CommandError` that names the `origin`, but not the URL, which may contain a password. */
export function parseRedisUrl(url: string, origin: string): RedisUrl {
  const socket = URL_OF_SOCKET.exec(url);
  if (socket !== null) {
    const [, path, database] = socket;
    return { addresses: [], path, isTls: false, database: Number(database ?? 0), credentials: {} };
  }
  const [match, tls, userInfo, hosts = "", database] = URL_OF_HOSTS.exec(url) ?? [];
  const addresses = hosts.split(",").map(parseAddress);
  const credentials = parseCredentials(userInfo);
  if (match === undefined || addresses.includes(undefined) || credentials === undefined) {
    throw new CommandError(`${origin} is not a Redis URL: give ${URL_FORMS}`);
  }
  return {
    addresses: addresses as Address[],
    isTls: tls !== "",
    database: Number(database ?? 0),
    credentials,
  };
}

/** Parses `host:port`; an IPv6 address is in brackets. Undefined if invalid. */
function parseAddress(text: string): Address | undefined {
  const match = /^(?:\[([\da-f:.]+)\]|([^:[\]\s]*))(?::(\d{1,5}))?$/i.exec(text);
  if (match === null || Number(match[3] ?? 0) > 65_535) return undefined;
  return { host: match[1] ?? (match[2] || "127.0.0.1"), port: Number(match[3] ?? 0) };
}

/** Undefined if an escape is invalid. */
function parseCredentials(userInfo = ""): Credentials | undefined {
  const [, user = "", password] = /^([^:]*)(?::(.*))?$/s.exec(userInfo) ?? [];
  try {
    return {
      username: decodeURIComponent(user) || undefined,
      password: decodeURIComponent(password ?? "") || undefined,
    };
  } catch {
    return undefined;
  }
}

/** Formats a URL without credentials: `redis://10.0.0.7:6379/0`. */
export function formatDisplayUrl({ addresses, path, isTls, database }: RedisUrl): string {
  if (path !== undefined) return database === 0 ? path : `${path}?db=${database}`;
  const hosts = addresses.map(
    ({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`,
  );
  return `redis${isTls ? "s" : ""}://${hosts.join(",")}/${database}`;
}

/** Whether a command-line argument contains a URL with a password. */
export function containsPassword(argument: string): boolean {
  return /\w:\/\/[^@/]*:[^@/]+@/.test(argument);
}
