import type { Field, Setting } from "./setting.ts";
import { ALGORITHMS } from "./setting.ts";

/** The options of the limit, as its builder takes them. The builder checks them. */
export function optionsOf({ algorithm, values }: Setting): Record<string, number | string> {
  const fields: readonly Field[] = ALGORITHMS[algorithm].fields;
  return Object.fromEntries(
    fields
      .filter(({ name, isOptional }) => !isOptional || values[name] !== "")
      .map(({ name, kind }) => [
        name,
        kind === "number" ? toNumber(values[name]) : (values[name] ?? ""),
      ]),
  );
}

/** An empty text is no number, rather than 0. */
export function toNumber(text = ""): number {
  return text.trim() === "" ? Number.NaN : Number(text);
}
