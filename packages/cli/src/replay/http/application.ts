import type { Store } from "@headgate/core";
import type { NamedPolicy } from "../policies.ts";

/** An application behind the limiter, listening on loopback. It answers every admitted request with 200. */
export interface Application {
  readonly url: string;
  close(): Promise<void>;
}

export interface ApplicationOptions {
  /** The name of the limiter. */
  readonly name: string;
  readonly limits: NamedPolicy["limits"];
  readonly store: Store;
  /** Milliseconds. */
  readonly storeTimeout: number;
}

/** Starts an application of one framework. */
export type Serve = (options: ApplicationOptions) => Promise<Application>;
