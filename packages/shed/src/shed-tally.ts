import { processDetails } from "@headgate/core/internal";
import type { ShedDecision } from "./law/admission.ts";

/** After this without a shed request, the next one begins a new episode. */
const EPISODE_GAP_MS = 60_000;

/** The most load shedders of a process that are listed. */
const MAX_LISTED = 16;

/** What a load shedder lists in the registry, for the dashboard and `headgate doctor`. Times are milliseconds since the epoch. */
interface ListedShedder {
  readonly dryRun: boolean;
  /** The last episode in which it shed requests, or would have; missing if there was none. */
  readonly episode?: ShedEpisode & {
    /** Whether it has shed none for a minute. */
    readonly isOver: boolean;
  };
}

interface ShedEpisode {
  readonly from: number;
  /** When it last shed a request. */
  until: number;
  /** How many requests it shed, by priority. */
  default: number;
  sheddable: number;
  /** How many of these were of heavy subjects. */
  heavySubjects: number;
}

/**
 * Counts the shed requests of an episode, and lists them with this process in the registry of every store that it has a limiter or
 * breaker on. Of several load shedders with one name, the newest is listed.
 */
export class ShedTally {
  readonly #key: string;
  readonly #dryRun: boolean;
  readonly #now: () => number;
  #episode: ShedEpisode | undefined;

  constructor(name: string, dryRun: boolean, now: () => number = Date.now) {
    this.#key = `shedder ${name}`;
    this.#dryRun = dryRun;
    this.#now = now;
    const details = processDetails();
    if (details.has(this.#key) || details.size < MAX_LISTED) details.set(this.#key, this);
  }

  count({ request, reason }: ShedDecision): void {
    const now = this.#now();
    if (this.#episode === undefined || this.#isOver(this.#episode, now)) {
      this.#episode = { from: now, until: now, default: 0, sheddable: 0, heavySubjects: 0 };
    }
    this.#episode.until = now;
    if (request.priority === "sheddable") this.#episode.sheddable += 1;
    else this.#episode.default += 1;
    if (reason === "heavy-subject") this.#episode.heavySubjects += 1;
  }

  /** Lists it no more. */
  remove(): void {
    if (processDetails().get(this.#key) === this) processDetails().delete(this.#key);
  }

  #isOver({ until }: ShedEpisode, now: number): boolean {
    return now - until >= EPISODE_GAP_MS;
  }

  toJSON(): ListedShedder {
    const dryRun = this.#dryRun;
    const episode = this.#episode;
    if (episode === undefined) return { dryRun };
    return { dryRun, episode: { ...episode, isOver: this.#isOver(episode, this.#now()) } };
  }
}
