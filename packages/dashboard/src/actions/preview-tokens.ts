import { createHash, createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import type { Limiter } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";
import { isPlainObject } from "@headgate/core/internal";
import type { RedisClient } from "@headgate/core/redis";
import { redisStore } from "@headgate/core/redis";
import type { Action } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { storeUnavailable } from "../serve/http-error.ts";

/** How long a preview is valid. */
const VALIDITY_MS = 300_000;

/** Admits each token once while it is valid, also by the clock of a process that is five minutes behind. */
const ONCE = gcra({ limit: 1, window: "10m" });

/** The maximum difference between two reads of the end of a block, in milliseconds. */
const TOLERANCE_MS = 5_000;

/** The part of the previewed state that must be unchanged when the action is performed. */
export interface PreviewedState {
  /** JSON that is equal while nothing has changed. */
  readonly facts: string;
  /** When blocks end, in milliseconds since the epoch. Two reads of the same end may differ slightly. */
  readonly blockEnds: readonly number[];
}

interface Claims {
  readonly id: string;
  readonly expires: number;
  /** The hash of the action and of the visitor who saw its preview. */
  readonly actionHash: string;
  readonly state: PreviewedState;
}

/**
 * Signs the previews of actions. A token is valid once, for one visitor and one action: a limiter in Redis admits it once in all
 * processes, each of which accepts it if it has the same secret.
 */
export class PreviewTokens {
  readonly #secret: Buffer;
  readonly #now: () => number;
  readonly #reader: Pick<FleetReader, "client" | "store" | "timeoutMs">;
  /** Made for the first token that is redeemed, because a page that is only read needs none. */
  #once: Limiter | undefined;

  /** `now` is a clock in milliseconds. */
  constructor(
    secret: string | undefined,
    reader: Pick<FleetReader, "client" | "store" | "timeoutMs">,
    now: () => number = Date.now,
  ) {
    this.#secret =
      secret === undefined ? randomBytes(32) : createHash("sha256").update(secret).digest();
    this.#reader = reader;
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
   * expired or already redeemed. Rejects with an `HttpError` or an error of the store while Redis is unavailable.
   */
  async redeem(
    token: string,
    action: Action,
    by: string,
  ): Promise<((state: PreviewedState) => boolean) | undefined> {
    const claims = this.#read(token);
    if (
      claims === undefined ||
      claims.expires <= this.#now() ||
      claims.actionHash !== hashAction(action, by)
    ) {
      return undefined;
    }
    if (!(await this.#isFirstUse(claims.id))) return undefined;
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

  async #isFirstUse(id: string): Promise<boolean> {
    const { client, store, timeoutMs } = this.#reader;
    this.#once ??= createLimiter({
      name: "dashboard-previews",
      limits: ONCE,
      store: redisStore(client as RedisClient, { prefix: store.prefix, registry: false }),
      storeTimeout: timeoutMs,
    });
    const { allowed, degraded } = await this.#once.consume(id);
    if (degraded) throw storeUnavailable();
    return allowed;
  }
}

function isSameState(one: PreviewedState, other: PreviewedState): boolean {
  return (
    one.facts === other.facts &&
    one.blockEnds.length === other.blockEnds.length &&
    one.blockEnds.every((end, i) => Math.abs(end - (other.blockEnds[i] ?? 0)) <= TOLERANCE_MS)
  );
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
