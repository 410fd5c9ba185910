import type { KeyFunction } from "@headgate/core/http";
import { byAll as joinKeys } from "@headgate/core/http";
import type { Request } from "express";

/**
 * Counts by several keys together, such as address and account: `byAll(byIp(), (req) => req.body.email)`. Each combination is a
 * subject of its own; a request that lacks one of them has no key. Throws `HEADGATE_INVALID_OPTION`.
 */
export function byAll(...keys: readonly KeyFunction<Request>[]): KeyFunction<Request> {
  return joinKeys(...keys);
}
