import { TABLES } from "../../test/bench/tables/all.mjs";
import { formatTable } from "../fault-table/markdown-table.mjs";
import { listLosses } from "./losses.mjs";

/** The page with the results of a run between its markers: its machine, its tables, and where others are faster. */
export function writeTables(page, run) {
  const parts = {
    machine: machineOf(run),
    losses: listLosses(run.rows)
      .map((line) => `- ${line}`)
      .join("\n"),
    ...Object.fromEntries(
      Object.entries(TABLES).map(([name, tables]) => [
        name,
        tables(run.rows).map(tableOf).join("\n\n"),
      ]),
    ),
  };
  return Object.entries(parts).reduce((text, [name, part]) => putBetween(text, name, part), page);
}

function machineOf({ machine, rounds, isQuick }) {
  const kind = isQuick ? "A quick run, whose figures are rough" : "A full run";
  return `${kind}: ${rounds} rounds on ${machine.processor}; ${machine.node}, ${machine.redis}, ${machine.packages}.`;
}

function tableOf({ title, head, rows }) {
  return `${title}:\n\n${formatTable(head, rows)}`;
}

function putBetween(page, name, text) {
  const [begin, end] = [`<!-- ${name}:begin -->`, `<!-- ${name}:end -->`];
  const from = page.indexOf(begin);
  const to = page.indexOf(end);
  if (from < 0 || to < from) throw new Error(`the page has no ${begin} ... ${end}`);
  return `${page.slice(0, from)}${begin}\n\n${text}\n\n${page.slice(to)}`;
}
