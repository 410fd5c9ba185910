import type { Header } from "@headgate/core/http";
import { headerValue } from "@headgate/core/http";
import type { Response } from "express";

/** Puts headers on a response, or takes them off. */
export function setHeaders(res: Response, headers: readonly Header[]): void {
  for (const header of headers) {
    const [name, , added] = header;
    const value = headerValue(header, added && res.getHeader(name));
    if (value === undefined) res.removeHeader(name);
    else res.setHeader(name, value);
  }
}
