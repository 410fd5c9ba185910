import { CommandError } from "../command/command-error.ts";

/** A host and its port; 0 where the URL names none. */
export interface Address {
  readonly host: string;
  readonly port: number;
}

export interface Credentials {
  readonly username?: string | undefined;
  readonly password?: string | undefined;
}

/** Where a URL says that the counters are. */
export interface RedisUrl {
  /** Several for a cluster or Sentinels; none for a socket. */
  readonly addresses: readonly Address[];
  /** The path of a unix socket. */
  readonly path?: string | undefined;
  readonly isTls: boolean;
  readonly database: number;
  readonly credentials: Credentials;
}

const URL_FORMS =
  "redis://HOST:PORT/DATABASE, rediss://HOST:PORT/DATABASE for TLS, several hosts with commas between them, or the path of a unix socket";

/** The scheme, who, the hosts, the database. */
const URL_OF_HOSTS = /^redis(s?):\/\/(?:([^@/]*)@)?([^@/?#]*)(?:\/(\d*))?$/i;

const URL_OF_SOCKET = /^(?:(?:redis\+)?unix:\/\/)?(\/[^?]*)(?:\?db=(\d+))?$/i;

/** Reads a URL. `origin` names in the `CommandError` where it came from; the URL itself, which may hold a password, is not repeated. */
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

/** An address of IPv6 is in brackets. */
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

/** `redis://10.0.0.7:6379/0`, without who connects. */
export function formatDisplayUrl({ addresses, path, isTls, database }: RedisUrl): string {
  if (path !== undefined) return database === 0 ? path : `${path}?db=${database}`;
  const hosts = addresses.map(
    ({ host, port }) => `${host.includes(":") ? `[${host}]` : host}:${port}`,
  );
  return `redis${isTls ? "s" : ""}://${hosts.join(",")}/${database}`;
}

/** Whether an argument of the command line is, or ends in, a URL with a password. */
export function containsPassword(argument: string): boolean {
  return /\w:\/\/[^@/]*:[^@/]+@/.test(argument);
}
