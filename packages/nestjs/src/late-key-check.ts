import type { KeyFunction, RequestDecision } from "@headgate/core/http";
import { formatSubject, watchResponse } from "@headgate/core/internal-http";
import type { NestRequest } from "./limited-context.ts";

/** After how many rechecks a key function is no longer checked. */
const MOST_RECHECKS = 1_000;

/** How many late keys are reported. Fewer may be logins, before which no request has a key. */
const LATE_REQUESTS = 5;

/** The beginning of the subject of an address that is counted for lack of a key. No key function can return it. */
const ADDRESS_SUBJECT = formatSubject("ip", "");

/**
 * Notices key functions that run before the guard that authenticates: those that return nothing in time, but a key when the
 * request has ended. A key function that once returns a key in time is never checked again.
 */
export class LateKeyCheck {
  readonly #keys: Map<string, KeyFunction<NestRequest>>;
  readonly #onLate: (context: NestRequest) => void;
  #rechecks = 0;
  #late = 0;

  constructor(
    key: KeyFunction<NestRequest> | Readonly<Record<string, KeyFunction<NestRequest>>>,
    onLate: (context: NestRequest) => void,
  ) {
    this.#keys = new Map(Object.entries(typeof key === "function" ? { default: key } : key));
    this.#onLate = onLate;
  }

  /** Whether further requests need to be observed. */
  get isActive(): boolean {
    return this.#keys.size > 0 && this.#rechecks < MOST_RECHECKS;
  }

  /** Observes a request that continues, and its response. */
  observe(context: NestRequest, response: object, decision: RequestDecision): void {
    // An operation over a WebSocket has no response whose end could be watched.
    if (!("prependOnceListener" in response)) return;
    for (const [dimension, key] of this.#keys) {
      const subject = decision.subject[dimension];
      if (typeof subject !== "string") continue;
      if (!subject.startsWith(ADDRESS_SUBJECT)) this.#keys.delete(dimension);
      else {
        this.#rechecks += 1;
        const recheck = (): void => void this.#recheck(context, dimension, key);
        watchResponse(response, { onSent: recheck, onDisconnected: recheck });
      }
    }
  }

  async #recheck(
    context: NestRequest,
    dimension: string,
    key: KeyFunction<NestRequest>,
  ): Promise<void> {
    // Another request may have found its key in time meanwhile.
    if (!this.#keys.has(dimension)) return;
    try {
      const found = await key(context, undefined);
      if (found === undefined || found === null || found === "") return;
    } catch {
      // Its error has not concerned the request, which has ended.
      return;
    }
    this.#late += 1;
    if (this.#late < LATE_REQUESTS || !this.#keys.has(dimension)) return;
    this.#keys.clear();
    this.#onLate(context);
  }
}
