export interface TargetRow {
  readonly target: string;
  readonly state: string;
  /** From 0 to 1; null if there were no calls. */
  readonly successRate: number | null;
  readonly calls: number;
  /** When an open target gets trial calls; missing for a target that is forced open. */
  readonly until?: number | undefined;
  /** The latest order of an operator in the log, and the state that it set; missing if there is none. */
  readonly lastOrder?:
    | { readonly at: number; readonly state: string; readonly by: string }
    | undefined;
}

export interface BreakersView {
  readonly at: number;
  readonly breakers: readonly {
    readonly name: string;
    /** One text for each version of the policy. */
    readonly policy: readonly string[];
    readonly processes: number;
    readonly targets: readonly TargetRow[];
    /** Whether `targets` has all targets. */
    readonly hasAllTargets: boolean;
  }[];
  readonly unreadable: number;
}
