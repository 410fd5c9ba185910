import type { Limit } from "../../policy.ts";

/** How a subject is made in HTTP, without anything secret. */
export type SubjectSource =
  /** Of the client's address: IPv4 whole, of IPv6 so many leading bits. */
  | { readonly by: "ip"; readonly ipv6Prefix: number }
  /** Of a header's value, which is hashed; as HMAC where a secret was given. */
  | { readonly by: "header"; readonly name: string; readonly hash: "sha256" | "hmac" }
  /** Of several together. */
  | { readonly by: "all"; readonly keys: readonly SubjectSource[] }
  /** By a function of the application. */
  | { readonly by: "function" };

/** What says who is on a list: addresses and networks, or a function. */
export type ListSource = "addresses" | "function";

/** How requests are counted behind an adapter. */
export interface HttpUse {
  /** `"express"`, `"fastify"`, or what an adapter of the application's calls itself. */
  readonly adapter: string;
  /** By dimension; `"global"` has none. */
  readonly keys: Readonly<Record<string, SubjectSource>>;
  readonly missing: "ip" | "reject" | "skip";
  /** The header that names the client's address. */
  readonly addressHeader?: string | undefined;
  readonly allowList?: ListSource | undefined;
  readonly blockList?: ListSource | undefined;
}

/** What of a policy is in the keys of a dimension. */
export interface ListedShape {
  readonly per: string;
  /** The last part of the keys. */
  readonly fingerprint: string;
  /** The names of the limits that count there. */
  readonly limits: readonly string[];
}

/** What the directory says of a limiter. */
export interface LimiterRecord {
  readonly kind: "limiter";
  readonly name: string;
  /** Equal exactly when two limiters count the same. */
  readonly policy: string;
  /** As they were written. */
  readonly limits: readonly Limit[];
  /** `"settle"` where the limiter blocks by what is kept; missing otherwise. */
  readonly blockOn?: "settle" | undefined;
  /** At most 64. */
  readonly shapes: readonly ListedShape[];
  /** The name of the limiter that is decided together with it. */
  readonly extends?: string | undefined;
  readonly shadow: boolean;
  /** How adapters use it, at most 16 ways; none without HTTP. */
  readonly uses: readonly HttpUse[];
  /** Of Headgate. */
  readonly version: string;
  /** Whether it was too long, and its limits, shapes and uses were left out. */
  readonly isCut?: boolean | undefined;
}

/** What the directory says of a breaker. */
export interface BreakerRecord {
  readonly kind: "breaker";
  readonly name: string;
  /** Equal exactly when two breakers decide the same. */
  readonly policy: string;
  /** The options that decide, as they were written; of a function `openFor` the times that it gives. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The last part of the keys in which calls are counted. */
  readonly fingerprint: string;
  /** Of Headgate. */
  readonly version: string;
  /** Whether it was too long, and its options were left out. */
  readonly isCut?: boolean | undefined;
}

/** What the directory says of what one process has on one client and prefix. */
export interface ProcessRecord {
  /** The same for all clients of a process. */
  readonly process: string;
  readonly host: string;
  readonly pid: number;
  /** Milliseconds since the epoch, by the process's own clock. */
  readonly startedAt: number;
  /** Of Headgate. */
  readonly version: string;
  /** The hashes of the records of its limiters and breakers, at most 1,000. */
  readonly records: readonly string[];
  /** How many more it has. */
  readonly more: number;
}

/** What is listed under a name. */
export type ListedRecord = LimiterRecord | BreakerRecord;

/** Goes into every record. A reader of another format says so. */
export const RECORD_FORMAT = 1;
