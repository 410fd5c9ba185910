/** How a server is reached. */
export interface Address {
  /** As messages name it. */
  readonly place: string;
  /** What redis-cli needs to reach it: words of a command line. */
  readonly cli: readonly string[];
}
