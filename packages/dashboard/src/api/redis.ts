export interface Finding {
  readonly level: "ok" | "note" | "warning" | "error";
  readonly title: string;
  readonly impact?: string | undefined;
  readonly fix?: string | undefined;
  readonly docs?: string | undefined;
}

export interface RedisView {
  readonly at: number;
  /** Empty if the application gave no `doctor`. */
  readonly findings: readonly Finding[];
  /** Facts about the server, by name: `version`, `mode`, `role` and others. */
  readonly server: Readonly<Record<string, string | number>>;
  readonly latencyMs: number;
}
