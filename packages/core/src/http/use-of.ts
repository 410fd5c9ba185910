import type { HttpUse, ListSource } from "../fleet/directory/directory.ts";
import type { ClientList } from "./client-lists.ts";
import type { GuardOptions } from "./guard-options.ts";

/** What the directory says of how a limiter is used under some options. No entry of a list is in it, and no secret. */
export function useOf(
  adapter: string,
  keys: HttpUse["keys"],
  { missing = "ip", address, allowList, blockList }: GuardOptions<never>,
): HttpUse {
  return {
    adapter,
    keys,
    missing,
    addressHeader: address?.header.toLowerCase(),
    allowList: listSourceOf(allowList),
    blockList: listSourceOf(blockList),
  };
}

/** Undefined where nobody is on the list. */
function listSourceOf(list: ClientList<never> | undefined): ListSource | undefined {
  if (list === undefined || (Array.isArray(list) && list.length === 0)) return undefined;
  return typeof list === "function" ? "function" : "addresses";
}
