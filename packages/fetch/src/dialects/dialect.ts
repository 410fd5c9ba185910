/** The names of the known dialects. */
export type DialectName =
  | "anthropic"
  | "openai"
  | "shopify"
  | "github"
  | "discord"
  | "stripe"
  | "ietf"
  | "ratelimit"
  | "x-ratelimit"
  | "x-rate-limit";

/** The headers of one budget. */
export interface BudgetHeaders {
  /** The unit of the budget: `requests`, `tokens` and so on. */
  readonly unit: string;
  readonly limit?: string | undefined;
  readonly remaining: string;
  /** When it resets: seconds, a time, or a duration such as `6m0s`. The first header that is there counts. */
  readonly reset?: readonly string[] | undefined;
}

/** How a provider writes in headers what is left of its limits. */
export interface Dialect {
  readonly name: DialectName;
  /** Where the provider documents its headers. */
  readonly source: string;
  /** The headers by which an answer in this dialect is recognised: any of them. */
  readonly recognisedBy: readonly string[];
  readonly budgets: readonly BudgetHeaders[];
  /**
   * What the reset time means: the end of a window, after which all units are back, so that it is the time to wait when none is
   * left; or the time until a bucket that refills gradually is full, which is far more than the time to wait. Default `"window"`.
   */
  readonly resetIs?: "window" | "full-bucket" | undefined;
  /** The header that names the budget of this answer, where a provider has several with the same headers. */
  readonly bucket?: string | undefined;
  /** The bucket that counts most requests, as if the answer named none. */
  readonly mainBucket?: string | undefined;
  /** The header that says whether to send the request again: `true` or `false`. */
  readonly shouldRetry?: string | undefined;
  /**
   * Answers other than a 429 that were limited: those of a status with `Retry-After`, without units left, or with a body that
   * matches; and those of a GraphQL API, of status 200, with an error of one of the types. Such a body gives no time, so `waitMs` is
   * the least.
   */
  readonly alsoLimits?:
    | {
        readonly status: number;
        readonly body: RegExp;
        /** The end of the API's path. */
        readonly graphqlPath: string;
        readonly graphqlErrors: readonly string[];
        readonly waitMs: number;
      }
    | undefined;
}

/** What is left of one of a provider's budgets. */
export interface Budget {
  readonly unit: string;
  /** The name of the budget, where a provider has several of one unit. */
  readonly bucket: string | undefined;
  /** The whole budget, where the answer says it. */
  readonly limit: number | undefined;
  /** Whole units left. */
  readonly remaining: number;
  /** Milliseconds until it resets. */
  readonly resetMs: number | undefined;
  /** The window of the budget in milliseconds. */
  readonly windowMs: number | undefined;
}

/** What an answer says about the provider's limits. */
export interface ProviderAnswer {
  readonly dialect: DialectName | undefined;
  readonly budgets: readonly Budget[];
  /** Whether the provider refused the request because of a limit, so that nothing was done. */
  readonly isLimited: boolean;
  /** Milliseconds until the next request may succeed; undefined if the answer does not say. */
  readonly waitMs: number | undefined;
  /** Whether the provider wants the request again; undefined if it does not say. */
  readonly shouldRetry: boolean | undefined;
  /** The names of headers with values that cannot be read. */
  readonly unreadable: readonly string[];
}
