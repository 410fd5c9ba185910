export interface TargetRow {
  readonly target: string;
  readonly state: string;
  /** From 0 to 1; null if there were no calls. */
  readonly successRate: number | null;
  readonly calls: number;
  /** When an open target gets trial calls; missing for one that is held open. */
  readonly until?: number | undefined;
  /** An operator's last order in the log, and the state it led to; missing if there is none. */
  readonly lastOrder?:
    | { readonly at: number; readonly state: string; readonly by: string }
    | undefined;
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
    readonly hasAllTargets: boolean;
  }[];
  readonly unreadable: number;
}
