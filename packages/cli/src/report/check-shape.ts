/** The shape of a value of JSON: a kind, a list, an object with fields, or one of these that may be null or missing. */
export type Shape =
  | "text"
  | "number"
  | "boolean"
  | "anything"
  | { readonly listOf: Shape }
  | { readonly fields: Readonly<Record<string, Shape>> }
  | { readonly perhaps: Shape };

/** More is in no list of a report. */
const MOST_ITEMS = 100_000;

/** Throws a `TypeError`, which names the place, unless a value has a shape. Numbers are from 0 on, because they are counts and times. */
export function checkShape(value: unknown, shape: Shape, place: string): void {
  if (typeof shape === "string") {
    if (!isOf(shape, value)) throw new TypeError(`${place} is no ${shape}`);
  } else if ("perhaps" in shape) {
    if (value !== null && value !== undefined) checkShape(value, shape.perhaps, place);
  } else if ("listOf" in shape) {
    if (!Array.isArray(value) || value.length > MOST_ITEMS) {
      throw new TypeError(`${place} is no list of at most ${MOST_ITEMS} items`);
    }
    for (const [i, one] of value.entries()) checkShape(one, shape.listOf, `${place}[${i}]`);
  } else {
    if (typeof value !== "object" || value === null) throw new TypeError(`${place} is no object`);
    const fields = value as Readonly<Record<string, unknown>>;
    for (const [name, one] of Object.entries(shape.fields)) {
      checkShape(Object.hasOwn(fields, name) ? fields[name] : undefined, one, `${place}.${name}`);
    }
  }
}

function isOf(kind: "text" | "number" | "boolean" | "anything", value: unknown): boolean {
  switch (kind) {
    case "text":
      return typeof value === "string";
    case "number":
      return typeof value === "number" && Number.isFinite(value) && value >= 0;
    case "boolean":
      return typeof value === "boolean";
    case "anything":
      return true;
  }
}
