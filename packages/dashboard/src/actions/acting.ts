import type { Limiter } from "@headgate/core";
import { createLimiter, memoryStore, slidingLog } from "@headgate/core";
import type { Visitor } from "../access/visitor.ts";
import type { Action, ActionDone, ActionPreview } from "../api.ts";
import type { Reading } from "../reading.ts";
import { badRequest, Refusal } from "../serve/refusal.ts";
import type { ActionContext, Performed } from "./perform.ts";
import { perform } from "./perform.ts";
import { readAction } from "./read-action.ts";
import type { Tokens } from "./tokens.ts";

const MOST_REASON = 1_000;

/** Previews actions and performs them, within the part of a reading that each visitor may see. */
export class Acting {
  readonly #createBreaker: ActionContext["createBreaker"];
  readonly #tokens: Tokens;
  /** Limits each visitor's actions; in memory, so that it works while Redis is slow. */
  readonly #limiter: Limiter;

  constructor(createBreaker: ActionContext["createBreaker"], tokens: Tokens) {
    this.#createBreaker = createBreaker;
    this.#tokens = tokens;
    this.#limiter = createLimiter({
      name: "dashboard-actions",
      limits: slidingLog({ limit: 60, window: "1m" }),
      store: memoryStore(),
    });
  }

  /** Previews an action, with a token for it. Rejects with a `Refusal`. */
  async preview(
    reading: Reading,
    visitor: Visitor,
    body: Record<string, unknown>,
  ): Promise<ActionPreview> {
    const action = readAction(body["action"]);
    const by = requireAllowed(visitor, action);
    return (await this.#foresee(this.#placeOf(reading), action, by)).preview;
  }

  /** Performs an action if its preview still holds. Rejects with a `Refusal`. */
  async act(
    reading: Reading,
    visitor: Visitor,
    body: Record<string, unknown>,
  ): Promise<ActionDone> {
    const action = readAction(body["action"]);
    const by = requireAllowed(visitor, action);
    const reason = readReason(body["reason"]);
    const { token } = body;
    if (typeof token !== "string") throw badRequest("token must be that of a preview");
    await this.#requireRoom(by);
    const isShown = this.#tokens.use(token, action, by);
    const place = this.#placeOf(reading);
    const { preview, performed } = await this.#foresee(place, action, by);
    if (isShown === undefined) {
      const message = "this preview is not valid any more, or was used already: look again";
      throw new Refusal(409, "PREVIEW_EXPIRED", message, { preview });
    }
    if (!isShown(performed.state)) {
      const message = "the state has changed since it was shown: look again";
      throw new Refusal(409, "STATE_CHANGED", message, { preview });
    }
    const done = await perform(place, action, { reason, by });
    reading.forget();
    return { ...statesOf(done), at: await reading.now() };
  }

  #placeOf(reading: Reading): ActionContext {
    return { reading, createBreaker: this.#createBreaker };
  }

  async #foresee(
    place: ActionContext,
    action: Action,
    by: string,
  ): Promise<{ readonly preview: ActionPreview; readonly performed: Performed }> {
    const performed = await perform(place, action, { by, dryRun: true });
    const token = this.#tokens.sign(action, by, performed.state);
    return { performed, preview: { ...statesOf(performed), token } };
  }

  async #requireRoom(by: string): Promise<void> {
    const { allowed, retryAfterMs } = await this.#limiter.consume(by);
    if (allowed) return;
    const headers = { "retry-after": String(Math.ceil(retryAfterMs / 1_000)) };
    throw new Refusal(429, "TOO_MANY_ACTIONS", "at most 60 actions a minute", { headers });
  }
}

function statesOf({ before, after, inForceAt }: Performed) {
  return {
    before: before.join("\n"),
    after: after.join("\n"),
    inForceAt: inForceAt.getTime(),
  };
}

/**
 * Throws a `Refusal` unless the visitor may take this kind of action. Does not check the limiter: a hidden one is not in the
 * visitor's reading, and is answered like one that does not exist. Returns the visitor's name.
 */
function requireAllowed({ by, actions }: Visitor, action: Action): string {
  if (by !== null && actions.includes(action.kind)) return by;
  throw new Refusal(403, "ACTION_FORBIDDEN", "you may not take this action");
}

function readReason(reason: unknown): string {
  const isReason =
    typeof reason === "string" && reason.trim() !== "" && reason.length <= MOST_REASON;
  if (isReason) return reason;
  throw badRequest(`reason must be a text of 1 to ${MOST_REASON} characters`);
}
