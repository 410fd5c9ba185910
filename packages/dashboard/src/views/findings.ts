import { withTimeout } from "@headgate/core/internal";
import type { Finding } from "../api.ts";
import type { DoctorReport } from "../options.ts";

const LEVELS: Readonly<Record<string, Finding["level"]>> = {
  ok: "ok",
  note: "note",
  unknown: "note",
  warning: "warning",
  problem: "error",
};

/** The findings of the application's doctor; one that says so if it has not answered within some milliseconds. */
export function findingsWithin(
  ms: number,
  doctor: () => Promise<DoctorReport>,
): Promise<readonly Finding[]> {
  const late: Finding = {
    level: "warning",
    title: `The doctor has not answered within ${ms / 1_000} seconds`,
  };
  return withTimeout(ms, findingsOf(doctor), () => [late]);
}

async function findingsOf(doctor: () => Promise<DoctorReport>): Promise<readonly Finding[]> {
  const { checks } = await doctor();
  return checks.flatMap(({ findings, docs }) =>
    findings.map(
      ({ status, message, impact, fix, commands = [] }): Finding => ({
        level: Object.hasOwn(LEVELS, status) ? (LEVELS[status] ?? "note") : "note",
        title: message,
        means: impact,
        mend: fix === undefined && commands.length === 0 ? undefined : mendOf(fix, commands),
        see: docs,
      }),
    ),
  );
}

function mendOf(mend: string | undefined, commands: readonly string[]): string {
  return [...(mend === undefined ? [] : [mend]), ...commands].join("\n");
}
