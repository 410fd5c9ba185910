import { addressSubject, WHOLE } from "../address/client-address.ts";
import { formatKind, formatReceived, HeadgateError } from "../errors.ts";
import type { AddressList } from "./address-list.ts";
import { readAddressList } from "./address-list.ts";
import { BLOCKED } from "./answer.ts";
import { isPromiseLike } from "./is-promise-like.ts";
import type { Client, Verdict } from "./verdict.ts";
import { PASS } from "./verdict.ts";
import { withoutAddress } from "./without-address.ts";

/**
 * The clients on a list: addresses and networks (CIDR), a `net.BlockList`, or a function. `address` is the client's,
 * whole: IPv4 inside IPv6 as IPv4, without a zone; undefined if the request has none.
 */
export type ClientList<Request> =
  | AddressList
  | ((request: Request, address: string | undefined) => boolean | Promise<boolean>);

interface ListOptions<Request> {
  readonly allowList?: ClientList<Request> | undefined;
  readonly blockList?: ClientList<Request> | undefined;
}

/** Looks a request up in its lists. */
export interface ListCheck<Request> {
  /** Whether the client's address decides. */
  readonly usesAddress: boolean;
  /** What happens to a request that is on a list; undefined if it is on none. A promise only if a function returns one. */
  find(request: Request, client: Client): Found | Promise<Found>;
}

type Found = Verdict | undefined;

/** A list, and what happens to a request that is on it. */
interface List<Request> {
  readonly option: keyof ListOptions<Request>;
  readonly verdict: Verdict;
  /** Whether an address is needed to answer. */
  readonly needsAddress: boolean;
  readonly usesAddress: boolean;
  readonly has: (request: Request, address: string | undefined) => boolean | Promise<boolean>;
}

/** Throws `HEADGATE_INVALID_OPTION` for invalid lists. */
export function validateClientLists(owner: string, options: ListOptions<never>): void {
  readLists(owner, options);
}

/** Prepares the lists among options; undefined where nobody is on any. Throws `HEADGATE_INVALID_OPTION`. */
export function createListCheck<Request>(
  owner: string,
  options: ListOptions<Request>,
): ListCheck<Request> | undefined {
  const lists = readLists(owner, options);
  if (lists.length === 0) return undefined;
  const needsAddress = lists.some((list) => list.needsAddress);

  function findFrom(
    start: number,
    request: Request,
    address: string | undefined,
  ): Found | Promise<Found> {
    for (let i = start; i < lists.length; i += 1) {
      const { option, has, verdict } = lists[i] as List<Request>;
      const answer = has(request, address);
      if (isPromiseLike(answer)) {
        return answer.then((isOn) =>
          readAnswer(owner, option, isOn) ? verdict : findFrom(i + 1, request, address),
        );
      }
      if (readAnswer(owner, option, answer)) return verdict;
    }
    return undefined;
  }

  return {
    usesAddress: lists.some((list) => list.usesAddress),
    find(request, client) {
      const { address } = client;
      if (!address && (needsAddress || client.hasLeft())) {
        return withoutAddress(owner, client, "let a function say who is on the list");
      }
      return findFrom(0, request, address || undefined);
    },
  };
}

/** In the order in which they are asked. */
function readLists<Request>(
  owner: string,
  { blockList, allowList }: ListOptions<Request>,
): readonly List<Request>[] {
  return [
    ...readList(owner, "blockList", blockList, BLOCKED),
    ...readList(owner, "allowList", allowList, PASS),
  ];
}

function readList<Request>(
  owner: string,
  option: keyof ListOptions<Request>,
  list: ClientList<Request> | undefined,
  verdict: Verdict,
): readonly List<Request>[] {
  if (list === undefined) return [];
  if (typeof list === "function") {
    const has: List<Request>["has"] = (request, address) =>
      list(request, address && addressSubject(address, WHOLE));
    return [{ option, verdict, needsAddress: false, usesAddress: list.length > 1, has }];
  }
  const isOn = readAddressList(list, (received) => invalidList(owner, option, received));
  if (Array.isArray(list) && list.length === 0) return [];
  // Without an address it is not asked.
  const has: List<Request>["has"] = (_, address) => isOn(address as string);
  return [{ option, verdict, needsAddress: true, usesAddress: true, has }];
}

/** Anything but a boolean is an error: otherwise the request would be unlimited, or not blocked. */
function readAnswer(owner: string, option: string, answer: unknown): boolean {
  if (typeof answer === "boolean") return answer;
  throw new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: ${option} must return true or false, got ${formatKind(answer)}`,
  );
}

function invalidList(owner: string, option: string, received: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: ${option} must be a list of addresses and networks, like "203.0.113.7" and "2001:db8::/32", a net.BlockList or a function, got ${formatReceived(received)}`,
  );
}
