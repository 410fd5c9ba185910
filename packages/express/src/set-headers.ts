import type { Header } from "@headgate/core/http";
import type { Response } from "express";

/** Puts headers on a response, or takes them off. */
export function setHeaders(res: Response, headers: readonly Header[]): void {
  for (const [name, value] of headers) {
    if (value === undefined) res.removeHeader(name);
    else res.setHeader(name, value);
  }
}
