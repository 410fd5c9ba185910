import type { PolicyResult, ReplayResult } from "../replay/result.ts";
import { formatShare } from "./amounts.ts";
import { colorOf } from "./colors.ts";
import type { Chart } from "./draw-chart.ts";

const ROW = 44;
const LEFT = 36;
const RIGHT = 72;

/** The shares of requests and of clients that each policy denies, by the policies' numbers. */
export function sharesChart(
  { log }: ReplayResult,
  policies: readonly PolicyResult[],
  width: number,
): Chart {
  return {
    width,
    height: policies.length * ROW + 8,
    option: {
      grid: { left: LEFT, right: RIGHT, top: 4, bottom: 4 },
      xAxis: { type: "value", show: false, min: 0, max: mostShare(log, policies) },
      yAxis: {
        type: "category",
        inverse: true,
        data: policies.map((_, i) => String(i + 1)),
        axisTick: { show: false },
        axisLine: { lineStyle: { color: colorOf("line") } },
        axisLabel: { color: colorOf("text"), fontSize: 12 },
      },
      series: [
        bars(
          colorOf("denied"),
          log.requests,
          policies.map(({ denied }) => denied),
        ),
        bars(
          colorOf("policy"),
          log.clients,
          policies.map(({ clientsDenied }) => clientsDenied),
        ),
      ],
    },
  };
}

function mostShare(
  { requests, clients }: ReplayResult["log"],
  policies: readonly PolicyResult[],
): number {
  const shares = policies.flatMap((one) => [one.denied / requests, one.clientsDenied / clients]);
  return Math.max(...shares) || 1;
}

function bars(color: string, whole: number, parts: readonly number[]): object {
  return {
    type: "bar",
    silent: true,
    clip: false,
    emphasis: { disabled: true },
    barWidth: 14,
    barGap: "15%",
    itemStyle: { color },
    label: {
      show: true,
      position: "right",
      color: colorOf("quiet"),
      formatter: ({ dataIndex }: { readonly dataIndex: number }) =>
        formatShare(parts[dataIndex] ?? 0, whole),
    },
    data: parts.map((part) => part / whole),
  };
}
