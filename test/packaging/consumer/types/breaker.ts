import type { Breaker, Snapshot } from "@headgate/breaker";
import { createBreaker, exponentialBackoff, HeadgateBreakerOpenError } from "@headgate/breaker";
import { memoryStore } from "@headgate/core";

interface Answer {
  readonly status: number;
}

const breaker: Breaker<Answer> = createBreaker<Answer>({
  name: "payments",
  store: memoryStore(),
  window: { calls: 100 },
  openFor: exponentialBackoff({ first: "10s", longest: "5m" }),
  isFailure: (call) => call.status === "rejected" || call.value.status >= 500,
});
const answer: Promise<Answer> = breaker.run(
  async ({ signal }) => ({ status: Number(signal.aborted) }),
  {
    fallback: (context) => (context.reason === "result" ? context.result : { status: 503 }),
  },
);
void answer.then(({ status }) => status.toFixed());
void breaker.snapshot().then(({ successRate }: Snapshot) => successRate?.toFixed());
// @ts-expect-error calls of this breaker answer with a status
void breaker.run(async () => "text");
// @ts-expect-error an outcome that does not exist
void breaker.record("fine");
// @ts-expect-error a misspelt option
createBreaker({ minimumCall: 5 });
// @ts-expect-error the window is a time or a number of calls
createBreaker({ window: { time: 5 } });

/** Without a type of results every call can be made, and keeps its own. */
const anything = createBreaker();
const text: Promise<string> = anything.for("eu").run(() => "text");
void text.then((word) => word.trim());

export const waitFor = (error: unknown): number =>
  error instanceof HeadgateBreakerOpenError ? error.retryAfterMs : 0;
