import { LIBRARIES, titleOf } from "../../test/bench/clients.mjs";
import { FRAMEWORKS } from "../../test/bench/http/frameworks.mjs";
import { formatNumber } from "../../test/bench/print.mjs";
import { median, ratioOf } from "../../test/bench/statistics.mjs";

/** A panel for each client: how many decisions each limiter takes. */
export function decisionPanels(rows) {
  const shown = rows.filter(
    ({ suite, inFlight, subjects, limits, isDenied }) =>
      suite === "decisions" && inFlight === 64 && subjects === 1_000 && limits === 1 && !isDenied,
  );
  return LIBRARIES.map((library) => ({
    title: titleOf(library),
    bars: shown
      .filter((row) => row.library === library)
      .map(({ name, perSecond }) => ({
        name,
        kind: kindOf(name),
        value: median(perSecond),
        label: formatNumber(median(perSecond)),
      })),
  }));
}

/** A panel for each framework and outcome: the remaining requests per second. */
export function httpPanels(rows) {
  const own = rows.filter(({ suite, name }) => suite === "http" && name !== "bare");
  const titles = [...new Set(own.map(titleOfHttp))];
  return titles.map((title) => {
    const shown = own.filter((row) => titleOfHttp(row) === title);
    const constants = shown.find(({ name }) => name === "constants");
    return {
      title,
      bars: shown
        .filter((row) => row !== constants)
        .map(({ name, perSecond }) => {
          const share = ratioOf(perSecond, constants.perSecond);
          return { name, kind: kindOf(name), value: share, label: share.toFixed(2) };
        }),
    };
  });
}

function titleOfHttp({ framework, outcome }) {
  return `${FRAMEWORKS[framework].title}, ${outcome}`;
}

function kindOf(name) {
  if (name.startsWith("Headgate")) return "ours";
  return /^(INCR|EVALSHA)/.test(name) ? "floor" : "peer";
}
