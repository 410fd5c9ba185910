import type { Rules } from "./model-rules.ts";
import { isTooBad, memoryOf, openWindow } from "./model-rules.ts";
import type { ByHand, ModelPermit, Written } from "./model-written.ts";
import { atMost, DAY, holds, isByHand, SECOND, unexpired } from "./model-written.ts";
import type { Called, Counts, WindowOracle } from "./oracle-window.ts";
import { count } from "./oracle-window.ts";

export interface ModelView extends Counts {
  readonly state: "closed" | "open" | "half-open" | ByHand;
  readonly opened: number;
  /** Microseconds until trial calls are let through, or the first of those under way ends; undefined where there is none. */
  readonly wait: bigint | undefined;
}

/** One target of a breaker, as the words of the contract say and as slowly as they say it. Times are integer microseconds. */
export class ModelTarget {
  readonly #rules: Rules;
  readonly #window: WindowOracle;
  #written: Written | undefined;
  #periods = 0;
  #leases = 0;
  /** How often it was another period, apart from a closed one that was forgotten. */
  #changes = 0;
  #last = "closed 0";

  constructor(rules: Rules) {
    this.#rules = rules;
    this.#window = openWindow(rules);
  }

  look(now: bigint): ModelView {
    const written = this.#now(now);
    return {
      ...this.#window.counts(now),
      state: written?.kind ?? "closed",
      opened: written?.opened ?? 0,
      wait: waitOf(written, now),
    };
  }

  /** Undefined when no call is let through. What a ramp refuses besides is the process's own affair. */
  admit(now: bigint): ModelPermit | undefined {
    const written = this.#now(now);
    const changes = this.#changes;
    if (written === undefined) return { period: 0, lease: undefined, changes };
    const { kind, period } = written;
    if (kind === "open" || kind === "forced-open") return undefined;
    if (kind !== "half-open") return { period, lease: undefined, changes };
    const leases = unexpired(written.leases, now);
    if (written.outcomes.length + leases.length >= this.#rules.probes) return undefined;
    const lease = { id: ++this.#leases, expires: now + this.#rules.probeTimeout + SECOND };
    this.#written = { ...written, leases: [...leases, lease], expires: now + DAY };
    return { period, lease: lease.id, changes };
  }

  record(permit: ModelPermit | undefined, called: Called, now: bigint): void {
    const written = this.#now(now);
    if (permit?.lease !== undefined) {
      this.#try(permit, called, now);
      return;
    }
    const isOfNow = written === undefined || permit === undefined;
    const kind = written?.kind ?? "closed";
    if (kind !== "closed" && kind !== "metrics-only") return;
    if (isOfNow || permit.period === written.period) this.#count(called, now);
  }

  /**
   * Whether the contract says how a permit counts. Where its period was over in between, and nothing is written of what
   * came after, its store takes it for one of now, and a process that saw the change does not.
   */
  isClear(permit: ModelPermit, now: bigint): boolean {
    const written = this.#now(now);
    if (permit.changes === this.#changes) return true;
    return written !== undefined && written.period !== permit.period;
  }

  /** Microseconds until something changes, by itself or if nothing is written before. */
  moments(now: bigint): bigint[] {
    const written = this.#now(now);
    const { probeTimeout } = this.#rules;
    const moments = [memoryOf(this.#rules), probeTimeout + SECOND, DAY];
    if (written === undefined) return moments;
    if (written.kind === "open" || written.kind === "closed") moments.push(written.until - now);
    if (written.kind === "half-open") {
      moments.push(...written.leases.map(({ expires }) => expires - now));
    }
    moments.push(written.expires - now);
    return moments.filter((moment) => moment > 0n);
  }

  release(permit: ModelPermit, now: bigint): void {
    const written = this.#now(now);
    if (written?.kind !== "half-open" || permit.period !== written.period) return;
    if (!holds(written.leases, permit, now)) return;
    const leases = written.leases.filter(({ id }) => id !== permit.lease);
    this.#written = { ...written, leases, expires: now + DAY };
  }

  set(kind: ByHand, now: bigint): void {
    this.#written = {
      kind,
      opened: 0,
      since: now,
      expires: now + 7n * DAY,
      period: ++this.#periods,
    };
  }

  reset(now: bigint): void {
    this.#close(now, 0n);
  }

  /** The share of calls that a ramp lets through now, of those that the state does. */
  share(now: bigint): number {
    const written = this.#now(now);
    if (written?.kind !== "closed" || now >= written.until) return 1;
    return 0.1 + (0.9 * Number(now - written.since)) / Number(this.#rules.ramp);
  }

  /** Time passes first, at every contact: what is written now. */
  #now(now: bigint): Written | undefined {
    const written = this.#pass(now);
    const { kind, period } = written ?? { kind: "closed", period: 0 };
    const present = `${kind} ${period}`;
    const isForgotten = written === undefined && this.#last.startsWith("closed");
    if (present !== this.#last && !isForgotten) this.#changes += 1;
    this.#last = present;
    return written;
  }

  /** What has expired is as good as absent, and stays where it is. */
  #pass(now: bigint): Written | undefined {
    if (this.#written !== undefined) this.#written = atMost(this.#written, this.#rules, now);
    const written = this.#written;
    if (written === undefined || now >= written.expires) return undefined;
    if (written.kind === "open" && now >= written.until) {
      this.#written = {
        kind: "half-open",
        opened: written.opened,
        period: ++this.#periods,
        since: now,
        expires: now + DAY,
        outcomes: [],
        leases: [],
      };
    } else if (isByHand(written)) {
      this.#written = { ...written, expires: now + 7n * DAY };
    }
    return this.#written;
  }

  #count(called: Called, now: bigint): void {
    this.#window.add(called, now);
    if (this.#now(now)?.kind === "metrics-only") return;
    const counts = this.#window.counts(now);
    if (counts.calls >= this.#rules.minimumCalls && isTooBad(counts, this.#rules)) this.#open(now);
  }

  #try(permit: ModelPermit, called: Called, now: bigint): void {
    const written = this.#now(now);
    if (written?.kind !== "half-open" || permit.period !== written.period) return;
    if (!holds(written.leases, permit, now)) return;
    const leases = written.leases.filter(({ id }) => id !== permit.lease);
    const outcomes = [...written.outcomes, called];
    this.#written = { ...written, leases, outcomes, expires: now + DAY };
    if (outcomes.length < this.#rules.probes) return;
    if (isTooBad(count(outcomes), this.#rules)) this.#open(now);
    else this.#close(now, this.#rules.ramp);
  }

  #open(now: bigint): void {
    const opened = (this.#now(now)?.opened ?? 0) + 1;
    const until = now + this.#rules.openFor(opened);
    const period = ++this.#periods;
    this.#written = { kind: "open", opened, period, since: now, until, expires: until + DAY };
  }

  #close(now: bigint, ramp: bigint): void {
    const memory = memoryOf(this.#rules);
    this.#window.clear();
    this.#written = {
      kind: "closed",
      opened: 0,
      period: ++this.#periods,
      since: now,
      until: now + ramp,
      // What was let through before must not count after.
      expires: now + (memory > ramp ? memory : this.#rules.ramp),
    };
  }
}

function waitOf(written: Written | undefined, now: bigint): bigint | undefined {
  if (written?.kind === "open") return written.until - now;
  if (written?.kind !== "half-open") return undefined;
  const ends = unexpired(written.leases, now).map(({ expires }) => expires - now);
  return ends.toSorted((a, b) => (a < b ? -1 : 1))[0];
}
