import type { Limit } from "../common/policy.ts";

/** How HTTP subjects are formed, without secrets. */
export type SubjectSource =
  /** From the client's address: its first `ipv4Prefix` (missing for all 32) or `ipv6Prefix` bits. */
  | {
      readonly by: "ip";
      readonly ipv6Prefix: number;
      readonly ipv4Prefix?: number | undefined;
    }
  /** From a header's value, which is hashed; as an HMAC if a secret was given. */
  | { readonly by: "header"; readonly name: string; readonly hash: "sha256" | "hmac" }
  /** From several keys together. */
  | { readonly by: "combined"; readonly keys: readonly SubjectSource[] }
  /** By a function of the application. */
  | { readonly by: "function" };

/** How membership in a list is decided: by addresses and networks, or by a function. */
export type ListSource = "addresses" | "function";

/** How requests are counted behind an adapter. */
export interface HttpUse {
  /** `"express"`, `"fastify"`, or the name of the application's own adapter. */
  readonly adapter: string;
  /** How the subjects of each dimension are formed; `"global"` is left out, because it has no key. */
  readonly keys: Readonly<Record<string, SubjectSource>>;
  readonly missingKey: "ip" | "reject" | "skip";
  /** The header that names the client's address. */
  readonly addressHeader?: string | undefined;
  readonly allowList?: ListSource | undefined;
  readonly denyList?: ListSource | undefined;
}

/** The part of a policy that shares the keys of a dimension. */
export interface RegistryShape {
  readonly per: string;
  /** The last part of those keys. */
  readonly fingerprint: string;
  /** The names of its limits. */
  readonly limits: readonly string[];
}

/** A policy whose shape differs from the limiter's own, passed by its requests or calls: it has counters of its own. */
export interface RegistryPolicy {
  /** The limits of the first such policy; later ones may have other numbers. */
  readonly limits: readonly Limit[];
  readonly shapes: readonly RegistryShape[];
}

/** A limiter's record in the registry. */
export interface LimiterRecord {
  readonly kind: "limiter";
  readonly name: string;
  /** Equal if and only if two limiters have the same policy. */
  readonly policy: string;
  /** The limits as configured. */
  readonly limits: readonly Limit[];
  /** `"settle"` if the limiter sets blocks when charges are settled; missing otherwise. */
  readonly blockOn?: "settle" | undefined;
  /** The shapes of its policy, at most 64. */
  readonly shapes: readonly RegistryShape[];
  /** The policies of other shapes that are in use: at most 64; missing if there are none. */
  readonly perCallPolicies?: readonly RegistryPolicy[] | undefined;
  /** The number of such policies that are left out because they are too long; missing if none is. */
  readonly morePerCallPolicies?: number | undefined;
  /** The name of the limiter that it extends. */
  readonly extends?: string | undefined;
  readonly shadow: boolean;
  /** How adapters use it: at most 16 entries; empty without HTTP. */
  readonly uses: readonly HttpUse[];
  /** The version of Headgate. */
  readonly version: string;
  /** Whether the record was too long, so that limits, shapes and uses were left out. */
  readonly isTruncated?: boolean | undefined;
}

/** A breaker's record in the registry. */
export interface BreakerRecord {
  readonly kind: "breaker";
  readonly name: string;
  /** Equal if and only if two breakers have the same policy. */
  readonly policy: string;
  /** The configured options of the policy; for a function `openFor`, the times that it returns. */
  readonly options: Readonly<Record<string, unknown>>;
  /** The last part of the keys in which calls are counted. */
  readonly fingerprint: string;
  /** The version of Headgate. */
  readonly version: string;
  /** Whether the record was too long, so that its options were left out. */
  readonly isTruncated?: boolean | undefined;
}

/** A process's record in the registry, for one client and prefix. */
export interface ProcessRecord {
  /** The same for all clients of a process. */
  readonly process: string;
  readonly host: string;
  readonly pid: number;
  /** When the process started: milliseconds since the epoch, by its own clock. */
  readonly startedAt: number;
  /** The version of Headgate. */
  readonly version: string;
  /** The hashes of the records of its limiters and breakers, at most 1,000. */
  readonly records: readonly string[];
  /** How many more limiters and breakers it has. */
  readonly more: number;
  /** The targets of those of its breakers that name them. Missing in records of earlier versions. */
  readonly targets?: readonly BreakerTargets[] | undefined;
}

/** The targets of a breaker that a process has called and still tracks. */
export interface BreakerTargets {
  /** The hash of the breaker's record. */
  readonly record: string;
  /** The names of the targets: at most 200, each of 1 to 100 characters. */
  readonly names: readonly string[];
  /** How many more there are. */
  readonly more: number;
}

/** A record listed under a name. */
export type RegistryRecord = LimiterRecord | BreakerRecord;

/** Part of every record. A reader that expects another format reports it. */
export const RECORD_FORMAT = 1;
