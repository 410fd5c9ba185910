import { formatShare } from "../format/number.ts";
import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import type { Chart } from "./chart.ts";
import { crisp, drawArea, drawLine, drawText, round } from "./chart.ts";
import type { ColorRole } from "./colors.ts";
import type { Markup } from "./markup.ts";
import { html } from "./markup.ts";
import { shortName } from "./policy-name.ts";

/** Pixels: the height of a row, the space above, the height of a bar, and the distance between bars. */
const ROW = 52;
const TOP = 4;
const BAR = 14;
const BAR_TO_BAR = 17.5;
const RIGHT = 150;

/** The width of a character of a name in pixels. */
const CHARACTER = 7;

/** Draws the shares of clients and of requests that each policy denies. */
export function sharesChart(
  { log }: ReplayResult,
  policies: readonly PolicyResult[],
  width: number,
): Chart {
  const most = width < 500 ? 12 : 30;
  const names = policies.map((policy) => shortName(policy, most));
  const left = Math.max(...names.map(({ length }) => length)) * CHARACTER + 16;
  const shares = policies.flatMap((one) => [
    one.denied / log.requests,
    one.clientsDenied / log.clients,
  ]);
  const scale = (width - left - RIGHT) / (Math.max(...shares) || 1);
  const bar = (part: number, whole: number, what: string, top: number, use: ColorRole): Markup => {
    const right = round(left + (part / whole) * scale);
    const words = `${formatShare(part, whole)} of ${what}`;
    return html`${drawArea(`M${left} ${top}H${right}v${BAR}H${left}Z`, use)}${drawText(words, right + 5, top + BAR / 2, "start")}`;
  };
  const rows = policies.map(({ clientsDenied, denied }, i) => {
    const top = TOP + i * ROW;
    const first = top + (ROW - BAR_TO_BAR - BAR) / 2;
    return html`${drawText(names[i] ?? "", left - 8, top + ROW / 2, "end", "text")}${bar(clientsDenied, log.clients, "clients", first, "policy")}${bar(denied, log.requests, "requests", first + BAR_TO_BAR, "denied")}`;
  });
  const bottom = TOP + policies.length * ROW;
  return {
    width,
    height: bottom + TOP,
    shapes: html`${drawLine(`M${crisp(left)} ${TOP}V${bottom}`, "line", 1)}${rows}`,
  };
}
