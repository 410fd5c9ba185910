import type { Rejection } from "@headgate/core/http";
import type { Response } from "express";

/** Answers a request that does not go on. */
export function reject(res: Response, { status, contentType, body }: Rejection): void {
  res.statusCode = status;
  res.setHeader("Content-Type", contentType);
  res.end(body);
}
