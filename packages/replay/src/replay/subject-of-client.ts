import { isIP } from "node:net";
import { subjectOfAddress } from "@headgate/core/http";

/** An address with a port, as some proxies log it. */
const WITH_PORT = /^(?:\[([^\]]*)\]|(\d+\.\d+\.\d+\.\d+))(?::\d+)?$/;

/** The subject that an adapter would use for a client of a log: its address, its IPv6 network, or its host name. */
export function subjectOfClient(client: string): string {
  const match = WITH_PORT.exec(client);
  const address = match?.[1] ?? match?.[2] ?? client;
  return isIP(address) === 0 ? escapeHostName(client) : subjectOfAddress(address);
}

/** Escapes a text that is not an address, so that it cannot be taken for a network. */
export function escapeHostName(client: string): string {
  return client.toWellFormed().replace(/[^\w.:[\]-]+/g, encodeURIComponent);
}
