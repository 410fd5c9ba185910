/** One server on 127.0.0.1. */
export interface ServerEndpoint {
  readonly kind: "server";
  readonly port: number;
}

/** The address that clients connect to, on 127.0.0.1. */
export type Endpoint =
  | ServerEndpoint
  | { readonly kind: "cluster"; readonly ports: readonly number[] }
  | { readonly kind: "sentinel"; readonly ports: readonly number[]; readonly master: string };
