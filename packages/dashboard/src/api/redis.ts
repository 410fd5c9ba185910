export interface Finding {
  readonly level: "ok" | "note" | "warning" | "error";
  readonly title: string;
  readonly means?: string | undefined;
  readonly mend?: string | undefined;
  readonly see?: string | undefined;
}

export interface RedisView {
  readonly at: number;
  /** Empty if the application gave no `doctor`. */
  readonly findings: readonly Finding[];
  /** Facts about the server, by name: `version`, `mode`, `role` and others. */
  readonly server: Readonly<Record<string, string | number>>;
  readonly latencyMs: number;
}
