import type { RegistryProcess } from "@headgate/core/admin";
import type { ShedEpisode } from "@headgate/replay/internal";
import { formatShed, pluralize, readShedding } from "@headgate/replay/internal";
import { formatTime } from "../../output/time.ts";
import type { Check, Finding } from "../finding.ts";
import { ifKnown } from "../finding.ts";

/** The most processes that are named. */
const MAX_NAMED = 5;

interface SheddingProcess {
  readonly process: RegistryProcess;
  readonly episode: ShedEpisode;
}

export const load: Check = {
  name: "load",
  run: ({ registry }) => [
    ifKnown(registry, ({ processes }) => {
      const listed = processes.flatMap((process) => {
        const shedding = readShedding(process.details);
        return shedding === undefined ? [] : [{ process, episode: shedding.episode }];
      });
      const shed = listed
        .filter((one): one is SheddingProcess => one.episode !== undefined)
        .sort((one, other) => other.episode.until - one.episode.until);
      const now = shed.filter(({ episode }) => !episode.isOver);
      const enforced = now.filter(({ episode }) => !episode.dryRun);
      if (enforced.length > 0) return findOverload(enforced, listed.length);
      const [last] = shed;
      const head = `${listed.length} of ${pluralize(processes.length, "process", "processes")}`;
      if (listed.length === 0) return { status: "ok", message: "no process has a load shedder" };
      if (now.length > 0) {
        return {
          status: "note",
          message: `${pluralize(now.length, "process", "processes")} would shed requests: ${nameAll(now)}`,
          impact: "none: their load shedders are in a dry run, and such requests only wait in line",
          fix: "deploy them without dryRun",
        };
      }
      const end =
        last === undefined ? "" : `; ${describe(last)}, until ${formatTime(last.episode.until)}`;
      return { status: "ok", message: `${head} can shed load, and none does${end}` };
    }),
  ],
};

function findOverload(shedding: readonly SheddingProcess[], withShedder: number): Finding {
  return {
    status: "warning",
    message: `${shedding.length} of ${pluralize(withShedder, "process", "processes")} with a load shedder ${shedding.length === 1 ? "sheds" : "shed"} requests: ${nameAll(shedding)}`,
    impact: "more requests come than they can handle: some clients get status 503",
    fix: "add processes, or limit who sends the surplus; if only some shed, see how the load balancer distributes requests",
  };
}

function nameAll(shedding: readonly SheddingProcess[]): string {
  const named = shedding.slice(0, MAX_NAMED).map(describe);
  const more = shedding.length - named.length;
  return `${named.join("; ")}${more > 0 ? `; and ${more} more` : ""}`;
}

function describe({ process: { host, pid }, episode }: SheddingProcess): string {
  const verb = episode.dryRun ? "would have shed" : "shed";
  return `${host}:${pid} ${verb} ${formatShed(episode)} since ${formatTime(episode.from)}`;
}
