import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import { formatShare } from "./amounts.ts";
import { colorOf } from "./colors.ts";
import type { Chart } from "./draw-chart.ts";
import { shortNameOf } from "./policy-name.ts";

const ROW = 52;
const RIGHT = 150;

/** Pixels of a character of a name. */
const CHARACTER = 7;

/** The shares of clients and of requests that each policy denies, by the policies' names. */
export function sharesChart(
  { log }: ReplayResult,
  policies: readonly PolicyResult[],
  width: number,
): Chart {
  const most = width < 500 ? 12 : 30;
  const names = policies.map((policy) => shortNameOf(policy, most));
  const left = Math.max(...names.map(({ length }) => length)) * CHARACTER + 16;
  const shares = policies.flatMap((one) => [
    one.denied / log.requests,
    one.clientsDenied / log.clients,
  ]);
  return {
    width,
    height: policies.length * ROW + 8,
    option: {
      grid: { left, right: RIGHT, top: 4, bottom: 4 },
      xAxis: { type: "value", show: false, min: 0, max: Math.max(...shares) || 1 },
      yAxis: {
        type: "category",
        inverse: true,
        data: policies.map((_, i) => i),
        axisTick: { show: false },
        axisLine: { lineStyle: { color: colorOf("line") } },
        axisLabel: {
          color: colorOf("text"),
          fontSize: 12,
          formatter: (i: string) => names[Number(i)] ?? "",
        },
      },
      series: [
        bars(
          colorOf("policy"),
          policies.map((one) => one.clientsDenied),
          log.clients,
          "clients",
        ),
        bars(
          colorOf("denied"),
          policies.map((one) => one.denied),
          log.requests,
          "requests",
        ),
      ],
    },
  };
}

function bars(color: string, parts: readonly number[], whole: number, what: string): object {
  return {
    type: "bar",
    silent: true,
    clip: false,
    emphasis: { disabled: true },
    barWidth: 14,
    barGap: "25%",
    itemStyle: { color },
    label: {
      show: true,
      position: "right",
      color: colorOf("quiet"),
      formatter: ({ dataIndex }: { readonly dataIndex: number }) =>
        `${formatShare(parts[dataIndex] ?? 0, whole)} of ${what}`,
    },
    data: parts.map((part) => part / whole),
  };
}
