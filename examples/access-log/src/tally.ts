/** What became of one client's requests. */
export interface ClientTally {
  /** As the log names it. */
  readonly client: string;
  readonly requests: number;
  readonly admitted: number;
  readonly denied: number;
}

/** Counts what became of each client's requests. */
export class Tally {
  readonly #clients = new Map<string, { admitted: number; denied: number }>();
  #admitted = 0;
  #denied = 0;

  get admitted(): number {
    return this.#admitted;
  }

  get denied(): number {
    return this.#denied;
  }

  count(client: string, allowed: boolean): void {
    const counts = this.#clients.get(client) ?? { admitted: 0, denied: 0 };
    if (allowed) {
      counts.admitted += 1;
      this.#admitted += 1;
    } else {
      counts.denied += 1;
      this.#denied += 1;
    }
    this.#clients.set(client, counts);
  }

  /** Every client that was denied, the most often denied first; equals in the order of their names. */
  deniedClients(): ClientTally[] {
    return [...this.#clients]
      .filter(([, { denied }]) => denied > 0)
      .map(([client, { admitted, denied }]) => ({
        client,
        requests: admitted + denied,
        admitted,
        denied,
      }))
      .sort((a, b) => b.denied - a.denied || (a.client < b.client ? -1 : 1));
  }
}
