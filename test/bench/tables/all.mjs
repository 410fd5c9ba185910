import { tables as decisions } from "./decisions.mjs";
import { tables as growth } from "./growth.mjs";
import { tables as http } from "./http.mjs";
import { tables as inProcess } from "./in-process.mjs";
import { tables as processes } from "./processes.mjs";
import { tables as redis } from "./redis.mjs";
import { tables as targets } from "./targets.mjs";

/** Functions that turn each part of a run into tables of `{ title, head, rows }`, whose cells are text. */
export const TABLES = {
  targets,
  decisions,
  http,
  redis,
  "in-process": inProcess,
  processes,
  growth,
};

export function tablesOf(rows) {
  return Object.values(TABLES).flatMap((tables) => tables(rows));
}
