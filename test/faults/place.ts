/** One server, on 127.0.0.1. */
export interface ServerPlace {
  readonly kind: "server";
  readonly port: number;
}

/** Where clients are told to connect, on 127.0.0.1. */
export type Place =
  | ServerPlace
  | { readonly kind: "cluster"; readonly ports: readonly number[] }
  | { readonly kind: "sentinel"; readonly ports: readonly number[]; readonly master: string };
