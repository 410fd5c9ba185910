// Webhooks out: each receiver at its own pace, behind a breaker of its own, and tried again later.

import { createBreaker } from "@headgate/breaker";
import type { Store } from "@headgate/core";
import { createLimiter, gcra } from "@headgate/core";

export interface Webhook {
  readonly id: string;
  readonly url: string;
  readonly body: unknown;
  /** How often it was sent before, from 0. */
  readonly sent: number;
}

/** Your queue. It survives a restart, and calls `deliver` again after so many milliseconds. */
export interface Outbox {
  later(webhook: Webhook, afterMs: number): void;
  giveUp(webhook: Webhook): void;
}

const TRIES = 8;
const FIRST_RETRY_MS = 5_000;
const LONGEST_RETRY_MS = 3_600_000;

export function createDelivery(store: Store, outbox: Outbox): (webhook: Webhook) => Promise<void> {
  const pace = createLimiter({
    name: "webhooks",
    store,
    // One every 200 ms.
    limits: gcra({ limit: 5, window: "1s", burst: 1 }),
    // No client waits for this decision, so a slow Redis may take its time.
    storeTimeout: "1s",
  });
  const breaker = createBreaker<Response>({
    name: "webhooks",
    store,
    storeTimeout: "1s",
    window: "1m",
    minimumCalls: 5,
    openFor: "30s",
    trialCalls: 1,
    // An answer below 500 shows that the receiver works.
    isFailure: (call) => call.status === "rejected" || call.value.status >= 500,
  });

  async function deliver(webhook: Webhook): Promise<void> {
    const receiver = new URL(webhook.url).host;
    try {
      await pace.wait(receiver, { timeout: "30s" });
      const response = await breaker
        .for(receiver)
        .run(({ signal }) => post(webhook, signal), { timeout: "5s" });
      if (!response.ok) retry(webhook, retryAfterMs(response));
    } catch (error) {
      if (isUnsent(error)) outbox.later(webhook, atMost(error.retryAfterMs ?? FIRST_RETRY_MS));
      else retry(webhook, 0);
    }
  }

  /** Puts a webhook aside that was sent and not accepted: twice as long each time. */
  function retry(webhook: Webhook, leastMs: number): void {
    const again = { ...webhook, sent: webhook.sent + 1 };
    const backoffMs = FIRST_RETRY_MS * 2 ** webhook.sent;
    if (again.sent < TRIES) outbox.later(again, atMost(Math.max(backoffMs, leastMs)));
    else outbox.giveUp(again);
  }

  return deliver;
}

async function post({ id, url, body }: Webhook, signal: AbortSignal): Promise<Response> {
  const headers = { "content-type": "application/json", "webhook-id": id };
  const response = await fetch(url, {
    method: "POST",
    headers,
    body: JSON.stringify(body),
    redirect: "manual",
    signal,
  });
  await response.body?.cancel();
  return response;
}

const UNSENT = ["HEADGATE_BREAKER_OPEN", "HEADGATE_WAIT_TIMEOUT", "HEADGATE_QUEUE_FULL"];

function isUnsent(error: unknown): error is { readonly retryAfterMs?: number } {
  return UNSENT.includes((error as { readonly code?: string }).code ?? "");
}

/** The Retry-After of a 429 or 503 of the receiver, in milliseconds; 0 without one. */
function retryAfterMs({ headers }: Response): number {
  return (Number(headers.get("retry-after")) || 0) * 1_000;
}

function atMost(ms: number): number {
  return Math.min(ms, LONGEST_RETRY_MS);
}
