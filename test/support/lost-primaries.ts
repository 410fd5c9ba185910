const ALL = process.env["HEADGATE_FAULT_ROUNDS"] !== undefined;

/** One way to lose a primary, and the client that sees it. */
export interface LostPrimary<Library extends string> {
  readonly library: Library;
  readonly fault: "killed" | "frozen";
}

/** Every way through every client in `test:faults`; in a plain run, which has less time, each client and each way once. */
export function lostPrimaries<Library extends string>(
  libraries: readonly [Library, Library],
): LostPrimary<Library>[] {
  const [first, second] = libraries;
  const some: LostPrimary<Library>[] = [
    { library: first, fault: "killed" },
    { library: second, fault: "frozen" },
  ];
  if (!ALL) return some;
  return [...some, { library: first, fault: "frozen" }, { library: second, fault: "killed" }];
}
