import { LIBRARIES, titleOf } from "../clients.mjs";
import { formatNumber, formatSpread } from "../print.mjs";
import { median } from "../statistics.mjs";

/** A case in words: what is the same for all of its rows. */
export function titleOfCase({ inFlight, subjects, limits, isDenied }) {
  return [
    `${formatNumber(inFlight)} in flight`,
    count(subjects, "subject"),
    count(limits, "limit"),
    isDenied ? "denied" : "allowed",
  ].join(", ");
}

function count(number, noun) {
  return `${formatNumber(number)} ${noun}${number === 1 ? "" : "s"}`;
}

/** One table a case, a column for each client; and what the first two cost, in the process and in Redis. */
export function tables(rows) {
  const own = rows.filter(({ suite }) => suite === "decisions");
  const titles = [...new Set(own.map(titleOfCase))];
  const perCase = titles.map((title) => {
    const ofCase = own.filter((row) => titleOfCase(row) === title);
    return tableBy(`Thousands of decisions per second: ${title}`, ofCase, ({ perSecond }) =>
      formatSpread(perSecond.map((number) => number / 1_000)),
    );
  });
  const costs = titles.slice(0, 2).map((title) =>
    tableBy(
      `µs for a decision, of Node's processor, of Redis's, and of its scripts, and calls to Redis: ${title}`,
      own.filter((row) => titleOfCase(row) === title),
      ({ nodeMicroseconds, redisCpuMicroseconds = [], redisMicroseconds, commands }) =>
        [nodeMicroseconds, redisCpuMicroseconds, redisMicroseconds, commands]
          .map((numbers) => formatNumber(median(numbers)))
          .join(" / "),
    ),
  );
  return [...perCase, ...costs];
}

function tableBy(title, rows, format) {
  const names = [...new Set(rows.map(({ name }) => name))];
  return {
    title,
    head: ["limiter", ...LIBRARIES.map(titleOf)],
    rows: names.map((name) => [
      name,
      ...LIBRARIES.map((library) => {
        const row = rows.find((one) => one.name === name && one.library === library);
        return row === undefined ? "–" : format(row);
      }),
    ]),
  };
}
