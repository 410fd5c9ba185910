import { BlockList, isIP } from "node:net";
import type { HeadgateError } from "../common/errors.ts";
import { invalidValue } from "../common/errors.ts";
import { rejectUnknownOptions } from "../common/options.ts";
import { addressSubject, FULL_IPV6_PREFIX } from "../net/client-address.ts";
import type { NetworkSet } from "../net/network.ts";
import { createNetworkSet, parseNetwork, positionOf } from "../net/network.ts";
import type { Client, HttpRequest, ReceivedRequest, TrustCheck } from "./client.ts";
import { headerValue } from "./client.ts";
import { requireHeaderName } from "./keys.ts";
import type { GuardStep } from "./request-context.ts";
import type { Warn } from "./warn.ts";

/** The header in which a proxy passes the client's address, and the proxies trusted to send it. */
export interface AddressOption {
  /** The header's name. The header must hold exactly one address. */
  readonly header: string;
  /** The addresses and networks (CIDR) of the proxies that connect to this process. */
  readonly trust: AddressList;
}

/** Addresses and networks (CIDR) of IPv4 and IPv6. */
export type AddressList = readonly string[] | BlockList;

/** Whether an address is on a list. Text that is not an address never is. */
export type AddressTest = (address: string) => boolean;

/** The parsed option. */
export interface AddressHeader {
  readonly header: string;
  readonly trusts: AddressTest;
}

/** Reads the option. Throws `HEADGATE_INVALID_OPTION`. */
export function readAddressOption(owner: string, option: AddressOption): AddressHeader {
  rejectUnknownOptions(`${owner}: address`, option, ["header", "trust"]);
  const { header, trust } = option;
  requireHeaderName(`${owner}: address.header`, header);
  const invalid = (received: unknown): HeadgateError =>
    invalidValue(
      `${owner}: address.trust must list the addresses or networks of your proxies, like "10.0.0.7" or "10.0.0.0/8"`,
      received,
    );
  if (Array.isArray(trust) && trust.length === 0) throw invalid(trust);
  return { header, trusts: readAddressList(trust, invalid) };
}

/** The step that reads the client's address from the header. `checkTrust` checks the framework's address if that one is used. */
export function createAddressStep<Request extends HttpRequest>(
  address: AddressHeader,
  checkTrust: TrustCheck | undefined,
  warn: Warn,
): GuardStep<Request> {
  return (context) => {
    context.client = readAddressHeader(address, context, warn);
    return context.client === context.frameworkClient ? checkTrust?.(context) : undefined;
  };
}

/** Returns the client with the address from the header, or the same client if there is none to trust. */
function readAddressHeader(
  { header, trusts }: AddressHeader,
  { request, httpRequest, frameworkClient: client }: ReceivedRequest,
  warn: Warn,
): Client {
  const { peer } = client;
  const value = headerValue(httpRequest.headers, header.toLowerCase());
  const isTrusted = peer !== undefined && trusts(peer);
  if (isTrusted && typeof value === "string" && isIP(value.trim()) !== 0) {
    return { address: value.trim(), peer, isDisconnected: client.isDisconnected };
  }
  if (isTrusted) {
    warn(
      "HEADGATE_ADDRESS_HEADER_IGNORED",
      `a request from the trusted proxy ${peer} did not have exactly one address in ${header}, so it was counted by the framework's address; let the proxy send that header with every request`,
      request,
    );
  } else if (value !== undefined) {
    warn(
      "HEADGATE_ADDRESS_HEADER_IGNORED",
      `a request had the header ${header} from ${peer ?? "an unknown peer"}, which is not trusted to send it, so it was counted by the framework's address; if that is your proxy, add it to address.trust`,
      request,
    );
  }
  return client;
}

/** The networks parsed from a list, and the entries that it had then. */
interface KnownList {
  readonly entries: readonly string[];
  readonly networks: NetworkSet;
}

/** Every route of an application may be given the same list. */
const known = new WeakMap<readonly string[], KnownList>();

/** Reads a list. Throws `invalid` for an entry that is neither address nor network, or for a value that is not a list. */
export function readAddressList(
  list: AddressList,
  invalid: (received: unknown) => Error,
): AddressTest {
  // The application may add to it while running.
  if (list instanceof BlockList) return (address) => isInBlockList(list, address);
  if (!Array.isArray(list)) throw invalid(list);
  const networks = networksOf(list, invalid);
  return (address) => {
    const position = positionOf(address);
    return position !== undefined && networks.has(position);
  };
}

function networksOf(list: readonly string[], invalid: (received: unknown) => Error): NetworkSet {
  const read = known.get(list);
  const isSame =
    read?.entries.length === list.length && read.entries.every((entry, i) => entry === list[i]);
  if (read !== undefined && isSame) return read.networks;
  const entries = [...list];
  const networks = createNetworkSet(
    entries.map((entry) => {
      const network = parseNetwork(entry);
      if (network === undefined) throw invalid(entry);
      return network;
    }),
  );
  known.set(list, { entries, networks });
  return networks;
}

function isInBlockList(list: BlockList, address: string): boolean {
  const whole = addressSubject(address, FULL_IPV6_PREFIX);
  const version = isIP(whole);
  return version !== 0 && list.check(whole, version === 4 ? "ipv4" : "ipv6");
}
