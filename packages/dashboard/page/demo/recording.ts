import type { ActionPreview, Span } from "../../src/api.ts";
import type { Recording } from "../src/client/recorded-source.ts";
import { breakersAt, redisAt } from "./breakers.ts";
import { blocksAt, deniedAt, logAt, overridesAt } from "./control.ts";
import { limiterAt, overviewAt, SESSION } from "./fleet.ts";
import { LIMITERS } from "./limiters.ts";
import { subjectsAt } from "./subjects.ts";

/** A recording of a fictional fleet under attack, for the demo without a server, for pictures and for tests. */
export function recordingAt(at: number): Recording {
  const spans = <T>(of: (span: Span) => T): Record<Span, T> => ({
    "1h": of("1h"),
    "24h": of("24h"),
    "30d": of("30d"),
  });
  return {
    at,
    session: SESSION,
    overview: spans((span) => overviewAt(at, span)),
    limiters: Object.fromEntries(
      LIMITERS.map(({ name }) => [
        name,
        spans((span) => limiterAt(at, name, span) as NonNullable<ReturnType<typeof limiterAt>>),
      ]),
    ),
    subjects: subjectsAt(at),
    breakers: breakersAt(at),
    control: {
      at,
      overrides: overridesAt(at),
      blocks: blocksAt(at),
      hasAllBlocks: true,
      denyList: deniedAt(at),
    },
    log: { at, rows: logAt(at), next: null, unreadable: 1 },
    redis: redisAt(at),
    previews: previewsAt(at),
  };
}

function previewsAt(at: number): Readonly<Record<string, ActionPreview>> {
  const preview = (before: string, after: string): ActionPreview => ({
    before,
    after,
    at,
    effectiveAt: at + 2_000,
    token: "recorded",
  });
  const used = "burst: 20 of 20 used, 0 left\n5-per-15m: 3 of 5 used, 2 left";
  const unused = "burst: 0 of 20 used, 20 left\n5-per-15m: 0 of 5 used, 5 left";
  return {
    block: preview(used, `${used}\nblocked by hand for 1 h`),
    unblock: preview(`${used}\nblocked by hand for 23 h`, used),
    reset: preview(used, unused),
    forget: preview(`${used}\n1 override, 3 entries of the log`, unused),
    setOverride: preview("no override", "burst: limit 200, for 1 h"),
    unsetOverride: preview("per-user: limit 2,400, 5 h left", "no override"),
    addToDenyList: preview("not on the list", "on the list for 24 h"),
    removeFromDenyList: preview("on the list, 15 h left", "not on the list"),
    breaker: preview("closed", "forced open for 10 min"),
  };
}
