import type { Store } from "@headgate/core";
import type { ReplayLimit } from "./limits.ts";

/** An application behind the limiter, listening on loopback. It answers 200 to everything that is admitted. */
export interface Application {
  readonly url: string;
  close(): Promise<void>;
}

export interface ApplicationOptions {
  readonly limits: readonly ReplayLimit[];
  readonly store: Store;
}

/** Starts an application; each framework has one of these. */
export type Serve = (options: ApplicationOptions) => Promise<Application>;

/** A replay counts exactly or not at all: it waits longer than an application would, and ends when Redis does. */
export const WITHOUT_STORE = { storeTimeout: "5s", onUnavailable: "deny" } as const;
