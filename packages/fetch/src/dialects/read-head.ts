import type { DialectName, ProviderAnswer } from "./dialect.ts";
import type { AnswerHead } from "./read-answer.ts";
import { readAnswer, UNAVAILABLE } from "./read-answer.ts";
import { needsBody } from "./read-body.ts";

/** What the head of an answer says. */
export interface ReadHead {
  readonly read: ProviderAnswer;
  /** Whether it refused the request, so that this may be sent again. */
  readonly isRefused: boolean;
  /** Whether the body says more about the provider's limits. */
  readonly needsBody: boolean;
}

/** Reads the head of an answer to a request for `path`, in these dialects; in all if undefined. */
export function readHead(
  head: AnswerHead,
  path: string,
  dialects: readonly DialectName[] | undefined,
): ReadHead {
  const { status } = head;
  const read = readAnswer(head, Date.now(), dialects);
  const contentType = head.header("content-type");
  return {
    read,
    isRefused: read.isLimited || status === UNAVAILABLE,
    needsBody: needsBody({ status, path, contentType }, read, dialects),
  };
}
