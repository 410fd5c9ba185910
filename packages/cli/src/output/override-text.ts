import type { NewOverride } from "@headgate/core/operate";

/** What an override puts in force: `100-per-1m: limit 500, burst 50; shadow`. */
export function formatOverride({
  limits = {},
  shadow,
}: Pick<NewOverride, "limits" | "shadow">): string {
  const numbers = Object.entries(limits).map(([name, given]) => {
    const written = Object.entries(given).map(([what, number]) => `${what} ${number}`);
    return `${name}: ${written.join(", ")}`;
  });
  const parts =
    shadow === undefined ? numbers : [...numbers, shadow ? "in shadow" : "not in shadow"];
  return parts.join("; ");
}
