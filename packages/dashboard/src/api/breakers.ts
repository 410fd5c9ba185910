export interface TargetRow {
  readonly target: string;
  readonly state: string;
  /** From 0 to 1; null if there were no calls. */
  readonly successRate: number | null;
  readonly calls: number;
  readonly since?: number | undefined;
  /** The operator's order that holds its state. */
  readonly order?: string | undefined;
  readonly until?: number | undefined;
}

export interface BreakersView {
  readonly at: number;
  readonly breakers: readonly {
    readonly name: string;
    /** In words, one for each policy. */
    readonly policy: readonly string[];
    readonly processes: number;
    readonly targets: readonly TargetRow[];
    /** Whether `targets` is known. */
    readonly targetsKnown: boolean;
  }[];
  readonly unread: number;
}
