import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { isPlainObject } from "../access/plain-object.ts";
import type { Action } from "../api.ts";
import type { PreviewedState } from "./previewed-state.ts";
import { isSameState } from "./previewed-state.ts";

/** How long a preview is valid. */
const VALIDITY_MS = 300_000;

/** The maximum number of redeemed tokens in memory; visitors cannot redeem as many while they are valid. */
const MAX_USED_TOKENS = 10_000;

/** The content of a token. */
interface Claims {
  readonly id: string;
  readonly expires: number;
  /** The hash of the action and of the visitor who saw its preview. */
  readonly actionHash: string;
  readonly state: PreviewedState;
}

/**
 * Signs the previews of actions. A token is valid once in this process, for one visitor and one action; redeemed tokens stay in
 * memory until they expire.
 */
export class PreviewTokens {
  readonly #secret: Buffer;
  readonly #now: () => number;
  /** When each redeemed token expires, by its `id`. */
  readonly #used = new Map<string, number>();

  /** `now` is a clock in milliseconds. */
  constructor(secret: string | undefined, now: () => number = Date.now) {
    this.#secret =
      secret === undefined ? randomBytes(32) : createHash("sha256").update(secret).digest();
    this.#now = now;
  }

  sign(action: Action, by: string, state: PreviewedState): string {
    const claims: Claims = {
      id: randomBytes(12).toString("base64url"),
      expires: this.#now() + VALIDITY_MS,
      actionHash: hashAction(action, by),
      state: { ...state, facts: hash(state.facts) },
    };
    const body = Buffer.from(JSON.stringify(claims)).toString("base64url");
    return `${body}.${this.#signatureOf(body)}`;
  }

  /**
   * Redeems a token, and returns a function that checks whether a state is the previewed one; undefined if the token is invalid,
   * expired or already redeemed.
   */
  redeem(
    token: string,
    action: Action,
    by: string,
  ): ((state: PreviewedState) => boolean) | undefined {
    const claims = this.#read(token);
    const now = this.#now();
    if (
      claims === undefined ||
      claims.expires <= now ||
      claims.actionHash !== hashAction(action, by)
    ) {
      return undefined;
    }
    if (this.#used.has(claims.id)) return undefined;
    this.#remember(claims, now);
    return (state) => isSameState({ ...state, facts: hash(state.facts) }, claims.state);
  }

  #read(token: string): Claims | undefined {
    const [body = "", signature = ""] = token.split(".");
    const [given, own] = [Buffer.from(signature), Buffer.from(this.#signatureOf(body))];
    if (given.length !== own.length || !timingSafeEqual(given, own)) return undefined;
    const claims: unknown = JSON.parse(Buffer.from(body, "base64url").toString());
    return isPlainObject(claims) ? (claims as unknown as Claims) : undefined;
  }

  #signatureOf(body: string): string {
    return createHmac("sha256", this.#secret).update(body).digest("base64url");
  }

  #remember({ id, expires }: Claims, now: number): void {
    for (const [known, end] of this.#used) {
      if (end > now && this.#used.size < MAX_USED_TOKENS) break;
      this.#used.delete(known);
    }
    this.#used.set(id, expires);
  }
}

/** Equal for the same action by the same visitor, regardless of the order of its fields. */
function hashAction(action: Action, by: string): string {
  return hash(JSON.stringify([by, sorted(action)]));
}

function sorted(value: unknown): unknown {
  if (!isPlainObject(value)) return value;
  const entries = Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1));
  return entries.map(([name, field]) => [name, sorted(field)]);
}

function hash(text: string): string {
  return createHash("sha256").update(text).digest("base64url");
}
