import { withTimeout } from "@headgate/core/internal";
import type { Finding } from "../api.ts";
import type { DoctorReport } from "../options.ts";

const LEVEL_BY_STATUS: Readonly<Record<string, Finding["level"]>> = {
  ok: "ok",
  note: "note",
  unknown: "note",
  warning: "warning",
  problem: "error",
};

/** The findings of the application's doctor, or a warning if it takes longer than the timeout. */
export function findingsWithTimeout(
  timeoutMs: number,
  doctor: () => Promise<DoctorReport>,
): Promise<readonly Finding[]> {
  const late: Finding = {
    level: "warning",
    title: `The doctor has not finished within ${timeoutMs / 1_000} seconds`,
  };
  return withTimeout(timeoutMs, findingsOf(doctor), () => [late]);
}

async function findingsOf(doctor: () => Promise<DoctorReport>): Promise<readonly Finding[]> {
  const { checks } = await doctor();
  return checks.flatMap(({ findings, docs }) =>
    findings.map(
      ({ status, message, impact, fix, commands = [] }): Finding => ({
        level: Object.hasOwn(LEVEL_BY_STATUS, status)
          ? (LEVEL_BY_STATUS[status] ?? "note")
          : "note",
        title: message,
        impact,
        fix: fix === undefined && commands.length === 0 ? undefined : formatFix(fix, commands),
        docs,
      }),
    ),
  );
}

function formatFix(fix: string | undefined, commands: readonly string[]): string {
  return [...(fix === undefined ? [] : [fix]), ...commands].join("\n");
}
