import type { Decision, Limit, Limiter, Store } from "@headgate/core";
import { createLimiter } from "@headgate/core";
import { STORE_ALONE } from "../../redis/store-alone.ts";

/**
 * A limiter whose limits change as in a deploy: the next limiter of the same name continues with the counts, and can refund the
 * requests that earlier ones admitted.
 */
export class DeployedLimiter {
  readonly #store: Store;
  readonly #name: string;
  #limits: readonly Limit[];
  #limiter: Limiter;

  constructor(store: Store, limits: readonly Limit[], name = "deployed") {
    this.#store = store;
    this.#name = name;
    this.#limits = limits;
    this.#limiter = this.#open();
  }

  get limits(): readonly Limit[] {
    return this.#limits;
  }

  async deploy(limits: readonly Limit[]): Promise<void> {
    if (limits === this.#limits) return;
    await this.#limiter.close();
    this.#limits = limits;
    this.#limiter = this.#open();
  }

  consume(subjects: Parameters<Limiter["consume"]>[0], cost = 1): Promise<Decision> {
    return this.#limiter.consume(subjects, { cost });
  }

  peek(subjects: Parameters<Limiter["peek"]>[0], cost = 1): Promise<Decision> {
    return this.#limiter.peek(subjects, { cost });
  }

  refund(decision: Decision): Promise<boolean> {
    return this.#limiter.refund(decision);
  }

  #open(): Limiter {
    const options = { ...STORE_ALONE, name: this.#name, store: this.#store };
    return createLimiter({ ...options, limits: this.#limits });
  }
}
