import type { Limiter } from "@headgate/core";
import { createLimiter, memoryStore, slidingLog } from "@headgate/core";
import type { ActionOptions } from "@headgate/core/admin";
import type { Visitor } from "../access/visitor.ts";
import type { Action, ActionPreview, CompletedAction } from "../api.ts";
import type { FleetReader } from "../fleet-reader.ts";
import { badRequest, HttpError } from "../serve/http-error.ts";
import { parseAction } from "./parse-action.ts";
import type { ActionContext } from "./perform-action.ts";
import { performAction } from "./perform-action.ts";
import type { PreviewTokens } from "./preview-tokens.ts";

type Fields = Readonly<Record<string, unknown>>;

const MAX_REASON_LENGTH = 1_000;

/** Previews and performs actions, on the data that each visitor may see. */
export class ActionRunner {
  readonly #createBreaker: ActionContext["createBreaker"];
  readonly #tokens: PreviewTokens;
  /** Limits each visitor's actions; in memory, so that it works while Redis is slow. */
  readonly #limiter: Limiter;

  constructor(createBreaker: ActionContext["createBreaker"], tokens: PreviewTokens) {
    this.#createBreaker = createBreaker;
    this.#tokens = tokens;
    this.#limiter = createLimiter({
      name: "dashboard-actions",
      limits: slidingLog({ limit: 60, window: "1m" }),
      store: memoryStore(),
    });
  }

  /** Previews an action, with a token for it. Rejects with an `HttpError`. */
  async preview(reader: FleetReader, visitor: Visitor, body: Fields): Promise<ActionPreview> {
    const action = parseAction(body["action"]);
    const by = requirePermission(visitor, action);
    return (await this.#createPreview(reader, action, by)).preview;
  }

  /** Performs an action if its preview still holds. Rejects with an `HttpError`. */
  async act(reader: FleetReader, visitor: Visitor, body: Fields): Promise<CompletedAction> {
    const action = parseAction(body["action"]);
    const by = requirePermission(visitor, action);
    const reason = parseReason(body["reason"]);
    const { token } = body;
    if (typeof token !== "string") throw badRequest("token must be the token of a preview");
    await this.#limitRate(by);
    const isPreviewed = await this.#tokens.redeem(token, action, by);
    const { preview, state } = await this.#createPreview(reader, action, by);
    if (isPreviewed === undefined) {
      const message = "this preview has expired or was already used: preview the action again";
      throw new HttpError(409, "PREVIEW_EXPIRED", message, { preview });
    }
    if (!isPreviewed(state)) {
      const message = "the state has changed since it was shown: preview the action again";
      throw new HttpError(409, "STATE_CHANGED", message, { preview });
    }
    const { completed } = await this.#perform(reader, action, { reason, by });
    reader.clearCache();
    return { ...completed, at: await reader.serverTime() };
  }

  async #createPreview(reader: FleetReader, action: Action, by: string) {
    const { completed, state, impact } = await this.#perform(reader, action, { by, dryRun: true });
    const token = this.#tokens.sign(action, by, state);
    return { state, preview: { ...completed, at: await reader.serverTime(), token, impact } };
  }

  async #perform(reader: FleetReader, action: Action, options: ActionOptions) {
    const context = { reader, createBreaker: this.#createBreaker };
    const { before, after, effectiveAt, state, impact } = await performAction(
      context,
      action,
      options,
    );
    const completed = {
      before: before.join("\n"),
      after: after.join("\n"),
      effectiveAt: effectiveAt.getTime(),
    };
    return { completed, state, impact: impact?.join("\n") };
  }

  async #limitRate(by: string): Promise<void> {
    const { allowed, retryAfterMs } = await this.#limiter.consume(by);
    if (allowed) return;
    const headers = { "retry-after": String(Math.ceil(retryAfterMs / 1_000)) };
    throw new HttpError(429, "TOO_MANY_ACTIONS", "at most 60 actions a minute", { headers });
  }
}

/**
 * Returns the visitor's name; throws an `HttpError` if the visitor may not take this kind of action. Does not check the limiter: the
 * visitor's reader leaves out hidden limiters, so that they get the same response as unknown ones.
 */
function requirePermission({ by, actions }: Visitor, action: Action): string {
  if (by !== null && actions.includes(action.kind)) return by;
  throw new HttpError(403, "ACTION_FORBIDDEN", "you may not take this action");
}

function parseReason(reason: unknown): string {
  const isReason =
    typeof reason === "string" && reason.trim() !== "" && reason.length <= MAX_REASON_LENGTH;
  if (isReason) return reason;
  throw badRequest(`reason must be a text of 1 to ${MAX_REASON_LENGTH} characters`);
}
