import { formatNumber } from "../../test/bench/print.mjs";
import { TABLES } from "../../test/bench/tables/all.mjs";
import { evaluateTargets } from "../../test/bench/targets.mjs";
import { formatTable, wrap } from "../fault-table/markdown-table.mjs";
import { replaceBetween } from "../replace-between.mjs";
import { listLosses } from "./losses.mjs";
import { figuresOf, summaryOf } from "./summary.mjs";

/** The pages, by their files, with what a run says between their markers; each part is on one of them. */
export function writePages(pages, run) {
  const parts = {
    machine: wrap(machineOf(run)),
    summary: summaryOf(run.rows).map(tableOf).join("\n\n"),
    figures: tableOf(figuresOf(run.rows)),
    losses: listLosses(run.rows)
      .map((line) => `- ${line}`)
      .join("\n"),
    missed: listMissed(run.rows),
    ...Object.fromEntries(
      Object.entries(TABLES).map(([name, tables]) => [
        name,
        tables(run.rows).map(tableOf).join("\n\n"),
      ]),
    ),
  };
  const written = { ...pages };
  for (const [name, part] of Object.entries(parts)) {
    const [file, ...others] = Object.keys(pages).filter((one) =>
      pages[one].includes(`<!-- ${name}:begin -->`),
    );
    if (file === undefined || others.length > 0) throw new Error(`one page must have "${name}"`);
    written[file] = replaceBetween(written[file], name, part);
  }
  return written;
}

/** Every target that the run missed, with what it measured. */
function listMissed(rows) {
  const targets = evaluateTargets(rows).filter(({ measured }) => !Number.isNaN(measured));
  const missed = targets.filter(({ isReached }) => !isReached);
  const lines = missed.map(
    ({ claim, target, measured }) => `- ${claim}: ${formatNumber(measured)}, to reach ${target}`,
  );
  return [`${missed.length} of ${targets.length}:`, "", ...lines].join("\n");
}

function machineOf({ machine, rounds, isQuick }) {
  const kind = isQuick ? "A quick run, whose figures are rough" : "A full run";
  return `${kind}: ${rounds} rounds on ${machine.processor}; ${machine.node}, ${machine.redis}, ${machine.packages}.`;
}

function tableOf({ title, head, rows }) {
  return `${title}:\n\n${formatTable(head, rows)}`;
}
