import { growCluster } from "../growth/cluster.mjs";
import { growHotSubject } from "../growth/hot-subject.mjs";
import { growKeys } from "../growth/keys.mjs";
import { growLogLimits } from "../growth/log-limits.mjs";
import { growProcesses } from "../growth/processes.mjs";
import { growRoutes } from "../growth/routes.mjs";
import { growShapes } from "../growth/shapes.mjs";

const GROWTHS = {
  keys: growKeys,
  "limit of slidingLog": growLogLimits,
  processes: growProcesses,
  routes: growRoutes,
  shapes: growShapes,
  servers: growCluster,
  "one subject for all": growHotSubject,
};

/** Measures which figures stay constant while something grows. */
export async function run({ rounds, isQuick, log }) {
  const rows = [];
  for (const [what, grow] of Object.entries(GROWTHS)) {
    log(what);
    rows.push(...(await grow({ rounds, isQuick })));
  }
  return rows;
}
