import type { Store } from "@headgate/core";
import type { NamedPolicy } from "../policies.ts";

/** An application behind the limiter, listening on loopback. It answers 200 to everything that is admitted. */
export interface Application {
  readonly url: string;
  close(): Promise<void>;
}

export interface ApplicationOptions {
  /** Of its limiter. */
  readonly name: string;
  readonly limits: NamedPolicy["limits"];
  readonly store: Store;
  /** Milliseconds. */
  readonly storeTimeout: number;
}

/** Starts an application; each framework has one of these. */
export type Serve = (options: ApplicationOptions) => Promise<Application>;
