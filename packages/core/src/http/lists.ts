import { channel } from "node:diagnostics_channel";
import { BlockList, isIP } from "node:net";
import type { HeadgateError } from "../common/errors.ts";
import { formatKind, invalidValue } from "../common/errors.ts";
import type { LimiterLabels } from "../common/publish.ts";
import { CHANNELS, publish } from "../common/publish.ts";
import type { Awaitable } from "../common/type-guards.ts";
import { isPromiseLike } from "../common/type-guards.ts";
import { addressSubject, FULL_IPV6_PREFIX } from "../net/client-address.ts";
import type { AddressTest } from "../net/network.ts";
import { createNetworkTest, parseNetwork } from "../net/network.ts";
import type { ListSource } from "../registry/record.ts";
import type { Verdict } from "./apply-verdict.ts";
import { PASS } from "./apply-verdict.ts";
import { handleMissingAddress } from "./client.ts";
import { DENIED_BY_LIST } from "./rate-limit-response.ts";
import type { GuardStep } from "./request-context.ts";

/** Addresses and networks (CIDR) of IPv4 and IPv6. */
export type AddressList = readonly string[] | BlockList;

/**
 * The clients on a list: addresses and networks (CIDR), a `net.BlockList`, or a function. `address` is the client's,
 * whole: IPv4 inside IPv6 as IPv4, without a zone; undefined if the request has none.
 */
export type ClientList<Request> =
  | AddressList
  | ((request: Request, address: string | undefined) => boolean | Promise<boolean>);

/** Published on `headgate:request:listed`. */
export interface ListedRequest extends LimiterLabels {
  /** The method and the configured route, such as `GET /users/:id`; undefined if there is none. */
  readonly route: string | undefined;
  /** The client's list: one on `allowList` is not limited, one on `denyList` or the operators' deny list is refused. */
  readonly list: "allowList" | "denyList" | "operatorDenyList";
}

/** A parsed list. */
export interface ParsedList<Request> {
  readonly source: ListSource;
  /** Whether the list depends on the client's address. */
  readonly usesAddress: boolean;
  readonly has: (request: Request, address: string | undefined) => boolean | Promise<boolean>;
}

/** Reads an option; undefined for a list without entries. Throws `HEADGATE_INVALID_OPTION`. */
export function readList<Request>(
  owner: string,
  option: "allowList" | "denyList",
  list: ClientList<Request> | undefined,
): ParsedList<Request> | undefined {
  if (list === undefined) return undefined;
  if (typeof list === "function") {
    const has: ParsedList<Request>["has"] = (request, address) =>
      list(request, address && addressSubject(address, FULL_IPV6_PREFIX));
    return { source: "function", usesAddress: list.length > 1, has };
  }
  const isOn = readAddressList(list, (received) => invalidListError(owner, option, received));
  if (Array.isArray(list) && list.length === 0) return undefined;
  // Without an address, the test is not called.
  return { source: "addresses", usesAddress: true, has: (_, address) => isOn(address as string) };
}

/** The step that looks a request up in its lists; undefined without lists. `onListed` is called with the list that it is on. */
export function createListStep<Request>(
  owner: string,
  {
    denyList,
    allowList,
  }: Readonly<Record<"denyList" | "allowList", ParsedList<Request> | undefined>>,
  onListed: (request: Request, list: ListedRequest["list"]) => void,
): GuardStep<Request> | undefined {
  const lists = [
    { option: "denyList", list: denyList, verdict: DENIED_BY_LIST } as const,
    { option: "allowList", list: allowList, verdict: PASS } as const,
  ].flatMap(({ list, ...rest }) => (list === undefined ? [] : { ...rest, ...list }));
  if (lists.length === 0) return undefined;
  const needsAddress = lists.some(({ source }) => source === "addresses");

  function read(i: number, request: Request, answer: unknown): Verdict | undefined {
    const { option, verdict } = lists[i] as (typeof lists)[number];
    // Otherwise the request would be unlimited, or not blocked.
    if (typeof answer !== "boolean") {
      throw invalidValue(`${owner}: ${option} must return true or false`, answer, formatKind);
    }
    if (answer) onListed(request, option);
    return answer ? verdict : undefined;
  }

  function findFrom(
    start: number,
    request: Request,
    address: string | undefined,
  ): Awaitable<Verdict | undefined> {
    for (let i = start; i < lists.length; i += 1) {
      const answer = lists[i]?.has(request, address);
      if (isPromiseLike(answer)) {
        return Promise.resolve(answer).then(
          (later) => read(i, request, later) ?? findFrom(i + 1, request, address),
        );
      }
      const verdict = read(i, request, answer);
      if (verdict !== undefined) return verdict;
    }
    return undefined;
  }

  return ({ request, client }) => {
    const { address } = client;
    if (!address && (needsAddress || client.isDisconnected())) {
      return handleMissingAddress(owner, client, "use a function as the list");
    }
    return findFrom(0, request, address || undefined);
  };
}

const listedRequests = channel(CHANNELS.listed);

/** Creates the message only if there is a subscriber. */
export function publishListed(describe: () => ListedRequest): void {
  if (listedRequests.hasSubscribers) publish(listedRequests, describe());
}

function invalidListError(owner: string, option: string, received: unknown): HeadgateError {
  return invalidValue(
    `${owner}: ${option} must be a list of addresses and networks, like "203.0.113.7" and "2001:db8::/32", a net.BlockList or a function`,
    received,
  );
}

/** The test made of a list, and the entries that the list had then. */
interface KnownList {
  readonly entries: readonly string[];
  readonly isOn: AddressTest;
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
  const read = known.get(list);
  const isSame =
    read?.entries.length === list.length && read.entries.every((entry, i) => entry === list[i]);
  if (read !== undefined && isSame) return read.isOn;
  const entries = [...list];
  const isOn = createNetworkTest(
    entries.map((entry) => {
      const network = parseNetwork(entry);
      if (network === undefined) throw invalid(entry);
      return network;
    }),
  );
  known.set(list, { entries, isOn });
  return isOn;
}

function isInBlockList(list: BlockList, address: string): boolean {
  const whole = addressSubject(address, FULL_IPV6_PREFIX);
  const version = isIP(whole);
  return version !== 0 && list.check(whole, version === 4 ? "ipv4" : "ipv6");
}
