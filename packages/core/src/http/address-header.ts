import { isIP } from "node:net";
import { formatReceived, HeadgateError } from "../errors.ts";
import { rejectUnknownOptions } from "../options.ts";
import type { AddressList, AddressTest } from "./address-list.ts";
import { readAddressList } from "./address-list.ts";
import { headerValue } from "./header-value.ts";
import type { HttpRequest } from "./key-function.ts";
import { requireHeaderName } from "./key-function.ts";
import type { Client } from "./verdict.ts";
import type { Warn } from "./warn.ts";

/** The header in which a proxy gives the client's address, and the proxies that are trusted to send it. */
export interface AddressOption {
  /** The header's name. The header must hold exactly one address. */
  readonly header: string;
  /** The addresses and networks (CIDR) of the proxies that connect to this process. */
  readonly trust: AddressList;
}

/** Finds the address by which a client counts. */
export type AddressReader = (request: HttpRequest, client: Client) => Client;

/** Prepares to read the header. Throws `HEADGATE_INVALID_OPTION`. */
export function createAddressReader(
  owner: string,
  option: AddressOption,
  warn: Warn,
): AddressReader {
  const { header, trusts } = readAddressOption(owner, option);
  const field = header.toLowerCase();

  return (request, client) => {
    const { peer } = client;
    const value = headerValue(request.headers, field);
    const isTrusted = peer !== undefined && trusts(peer);
    if (isTrusted && typeof value === "string" && isIP(value.trim()) !== 0) {
      return { address: value.trim(), peer, hasLeft: client.hasLeft };
    }
    if (isTrusted) {
      warn(
        "HEADGATE_ADDRESS_HEADER",
        `a request from the trusted proxy ${peer} did not have exactly one address in ${header}, so it was counted by the framework's address; let the proxy send that header with every request`,
        request,
      );
    } else if (value !== undefined) {
      warn(
        "HEADGATE_ADDRESS_HEADER",
        `a request had the header ${header} from ${peer ?? "an unknown peer"}, which is not trusted to send it, so it was counted by the framework's address; if that is your proxy, add it to address.trust`,
        request,
      );
    }
    return client;
  };
}

/** Reads the option. Throws `HEADGATE_INVALID_OPTION`. */
export function readAddressOption(
  owner: string,
  option: AddressOption,
): { readonly header: string; readonly trusts: AddressTest } {
  rejectUnknownOptions(`${owner}: address`, option, ["header", "trust"]);
  const { header, trust } = option;
  requireHeaderName(`${owner}: address.header`, header);
  if (Array.isArray(trust) && trust.length === 0) throw invalidTrust(owner, trust);
  const trusts = readAddressList(trust, (received) => invalidTrust(owner, received));
  return { header, trusts };
}

function invalidTrust(owner: string, received: unknown): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `${owner}: address.trust must list the addresses or networks of your proxies, like "10.0.0.7" or "10.0.0.0/8", got ${formatReceived(received)}`,
  );
}
