import { formatCount, pluralize } from "./number.ts";

/** The load shedders of a process, as they list themselves in the registry: see shed-tally.ts in `@headgate/shed`. */
export interface Shedding {
  readonly shedders: number;
  /** The last time that requests were shed; undefined if none was. */
  readonly episode: ShedEpisode | undefined;
}

/** A time in which a process shed requests, with no pause of a minute. Times are milliseconds since the epoch, by its own clock. */
export interface ShedEpisode {
  readonly from: number;
  readonly until: number;
  readonly isOver: boolean;
  /** Whether the requests were handled nevertheless. */
  readonly dryRun: boolean;
  /** How many requests were shed, by priority. */
  readonly default: number;
  readonly sheddable: number;
  /** How many of these were of heavy subjects. */
  readonly heavySubjects: number;
}

const KEY = "shedder ";

/**
 * Reads the load shedders of a process; undefined if it has none. Of several, one that sheds now counts before one that has ended, then
 * one that is enforced before a dry run, then the one that shed last.
 */
export function readShedding(
  details: Readonly<Record<string, unknown>> | null | undefined,
): Shedding | undefined {
  const listed = Object.entries(details ?? {}).filter(([name]) => name.startsWith(KEY));
  if (listed.length === 0) return undefined;
  const [episode] = listed
    .flatMap(([, value]) => readEpisode(value) ?? [])
    .sort(
      (one, other) =>
        Number(one.isOver) - Number(other.isOver) ||
        Number(one.dryRun) - Number(other.dryRun) ||
        other.until - one.until,
    );
  return { shedders: listed.length, episode };
}

/** Whether a process sheds requests, not only in a dry run. */
export function isShedding(details: Readonly<Record<string, unknown>> | null): boolean {
  const episode = readShedding(details)?.episode;
  return episode !== undefined && !episode.isOver && !episode.dryRun;
}

function readEpisode(listed: unknown): ShedEpisode | undefined {
  const { dryRun, episode } = (listed ?? {}) as {
    dryRun?: unknown;
    episode?: Partial<ShedEpisode>;
  };
  if (typeof episode !== "object" || episode === null) return undefined;
  const count = (value: unknown): number => (Number.isSafeInteger(value) ? (value as number) : 0);
  return {
    from: count(episode.from),
    until: count(episode.until),
    isOver: episode.isOver === true,
    dryRun: dryRun === true,
    default: count(episode.default),
    sheddable: count(episode.sheddable),
    heavySubjects: count(episode.heavySubjects),
  };
}

/** Whom it shed: `1,204 requests, 800 of them sheddable, 12 of heavy subjects`. */
export function formatShed(episode: ShedEpisode): string {
  const { sheddable, heavySubjects } = episode;
  const parts = [pluralize(episode.default + sheddable, "request")];
  if (sheddable > 0) parts.push(`${formatCount(sheddable)} of them sheddable`);
  if (heavySubjects > 0) parts.push(`${formatCount(heavySubjects)} of heavy subjects`);
  return parts.join(", ");
}
