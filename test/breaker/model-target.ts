import type { ByHand, ModelPermit, Written } from "./model-record.ts";
import { DAY, holds, isByHand, stepBack, unexpired } from "./model-record.ts";
import type { Rules } from "./model-rules.ts";
import { isTooBad, leaseOf, memoryOf, openWindow } from "./model-rules.ts";
import type { Called, Counts, WindowOracle } from "./oracle-window.ts";
import { count } from "./oracle-window.ts";

export interface ModelView extends Counts {
  readonly state: "closed" | "open" | "half-open" | ByHand;
  readonly opened: number;
  /** Microseconds until trial calls are let through, or the first of those under way ends; undefined where there is none. */
  readonly wait: bigint | undefined;
}

/**
 * One target of a breaker, as the words of the contract say and as slowly as they say it. Each contact comes with the rules
 * of its process, which differ in a fleet that is being deployed. Times are integer microseconds.
 */
export class ModelTarget {
  /** By what they remember. */
  readonly #windows = new Map<string, WindowOracle>();
  #written: Written | undefined;
  #periods = 0;
  #leases = 0;
  /** How often it was another period, apart from a closed one that was forgotten. */
  #changes = 0;
  #last = "closed 0";

  look(rules: Rules, now: bigint): ModelView {
    const written = this.#now(rules, now);
    return {
      ...this.#windowOf(rules).counts(now),
      state: written?.kind ?? "closed",
      opened: written?.opened ?? 0,
      wait: waitOf(written, now),
    };
  }

  /** Undefined if the call is rejected. Rejections of a ramp are up to the process. */
  admit(rules: Rules, now: bigint): ModelPermit | undefined {
    const written = this.#now(rules, now);
    const changes = this.#changes;
    if (written === undefined) return { period: 0, lease: undefined, changes };
    const { kind, period } = written;
    if (kind === "open" || kind === "forced-open") return undefined;
    if (kind !== "half-open") return { period, lease: undefined, changes };
    const leases = unexpired(written.leases, now);
    if (written.outcomes.length + leases.length >= rules.probes) return undefined;
    const lease = { id: ++this.#leases, since: now, expires: now + leaseOf(rules) };
    this.#written = { ...written, leases: [...leases, lease], expires: lease.expires + DAY };
    return { period, lease: lease.id, changes };
  }

  record(rules: Rules, permit: ModelPermit | undefined, called: Called, now: bigint): void {
    const written = this.#now(rules, now);
    if (permit?.lease !== undefined) {
      this.#try(rules, permit, called, now);
      return;
    }
    const isOfNow = written === undefined || permit === undefined;
    const kind = written?.kind ?? "closed";
    if (kind !== "closed" && kind !== "metrics-only") return;
    if (isOfNow || permit.period === written.period) this.#count(rules, called, now);
  }

  /**
   * Whether the contract says how a permit counts. Where its period was over in between, and nothing is written of what
   * came after, its store takes it for one of now, and a process that saw the change does not.
   */
  isClear(rules: Rules, permit: ModelPermit, now: bigint): boolean {
    const written = this.#now(rules, now);
    if (permit.changes === this.#changes) return true;
    return written !== undefined && written.period !== permit.period;
  }

  /** Microseconds until something changes, by itself or if nothing is written before. */
  moments(rules: Rules, now: bigint): bigint[] {
    const written = this.#now(rules, now);
    const moments = [memoryOf(rules), leaseOf(rules), DAY];
    if (written === undefined) return moments;
    if (written.kind === "open" || written.kind === "closed") moments.push(written.until - now);
    if (written.kind === "half-open") {
      moments.push(...written.leases.map(({ expires }) => expires - now));
    }
    moments.push(written.expires - now);
    return moments.filter((moment) => moment > 0n);
  }

  release(rules: Rules, permit: ModelPermit, now: bigint): void {
    const written = this.#now(rules, now);
    if (written?.kind !== "half-open" || permit.period !== written.period) return;
    if (!holds(written.leases, permit, now)) return;
    const leases = written.leases.filter(({ id }) => id !== permit.lease);
    this.#written = { ...written, leases, expires: now + leaseOf(rules) + DAY };
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

  /** Whether a ramp may refuse what the state lets through. */
  isRamped(rules: Rules, now: bigint): boolean {
    const written = this.#now(rules, now);
    return rules.ramp > 0n && written?.kind === "closed" && now < written.until;
  }

  /** Time passes first, at every contact: what is written now. */
  #now(rules: Rules, now: bigint): Written | undefined {
    const written = this.#pass(rules, now);
    const { kind, period } = written ?? { kind: "closed", period: 0 };
    const present = `${kind} ${period}`;
    const isForgotten = written === undefined && this.#last.startsWith("closed");
    if (present !== this.#last && !isForgotten) this.#changes += 1;
    this.#last = present;
    return written;
  }

  /** What has expired is as good as absent, and stays where it is. */
  #pass(rules: Rules, now: bigint): Written | undefined {
    if (this.#written !== undefined) this.#written = stepBack(this.#written, now);
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
    } else if (written.kind === "half-open") {
      // Who wants fewer trial calls than those before may have them already.
      this.#decide(rules, written.outcomes, now);
    } else if (isByHand(written)) {
      this.#written = { ...written, expires: now + 7n * DAY };
    }
    return this.#written;
  }

  #count(rules: Rules, called: Called, now: bigint): void {
    this.#windowOf(rules).add(called, now);
    if (this.#now(rules, now)?.kind === "metrics-only") return;
    const counts = this.#windowOf(rules).counts(now);
    if (counts.calls >= rules.minimumCalls && isTooBad(counts, rules)) this.#open(rules, now);
  }

  #try(rules: Rules, permit: ModelPermit, called: Called, now: bigint): void {
    const written = this.#now(rules, now);
    if (written?.kind !== "half-open" || permit.period !== written.period) return;
    if (!holds(written.leases, permit, now)) return;
    const leases = written.leases.filter(({ id }) => id !== permit.lease);
    const outcomes = [...written.outcomes, called];
    this.#written = { ...written, leases, outcomes, expires: now + leaseOf(rules) + DAY };
    this.#decide(rules, outcomes, now);
  }

  #decide(rules: Rules, outcomes: readonly Called[], now: bigint): void {
    if (outcomes.length < rules.probes) return;
    if (isTooBad(count(outcomes), rules)) this.#open(rules, now);
    else this.#close(now, rules.ramp);
  }

  #open(rules: Rules, now: bigint): void {
    const isForgotten = this.#written === undefined || now >= this.#written.expires;
    const opened = (isForgotten ? 0 : (this.#written?.opened ?? 0)) + 1;
    const until = now + rules.openFor(opened);
    const period = ++this.#periods;
    this.#written = { kind: "open", opened, period, since: now, until, expires: until + DAY };
  }

  #close(now: bigint, ramp: bigint): void {
    for (const window of this.#windows.values()) window.clear();
    this.#written = {
      kind: "closed",
      opened: 0,
      period: ++this.#periods,
      since: now,
      until: now + ramp,
      // What was let through before must not count after.
      expires: now + DAY,
    };
  }

  #windowOf(rules: Rules): WindowOracle {
    const { window } = rules;
    const key = "time" in window ? `time ${window.time}` : `calls ${window.calls}`;
    const oracle = this.#windows.get(key) ?? openWindow(rules);
    this.#windows.set(key, oracle);
    return oracle;
  }
}

function waitOf(written: Written | undefined, now: bigint): bigint | undefined {
  if (written?.kind === "open") return written.until - now;
  if (written?.kind !== "half-open") return undefined;
  const ends = unexpired(written.leases, now).map(({ expires }) => expires - now);
  return ends.toSorted((a, b) => (a < b ? -1 : 1))[0];
}
