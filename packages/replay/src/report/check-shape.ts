/** The shape of a JSON value: a type, a list, an object with fields, or one of these that may be null or missing. */
export type Shape =
  | "text"
  | "number"
  | "boolean"
  | "anything"
  | { readonly listOf: Shape }
  | { readonly fields: Readonly<Record<string, Shape>> }
  | { readonly optional: Shape };

/** The most items that a list in a report may have. */
const MAX_ITEMS = 100_000;

/** Throws a `TypeError` that names the path, unless a value has the shape. Numbers must not be negative, because they are counts and times. */
export function checkShape(value: unknown, shape: Shape, path: string): void {
  if (typeof shape === "string") {
    if (!hasType(shape, value)) throw new TypeError(`${path} is no ${shape}`);
  } else if ("optional" in shape) {
    if (value !== null && value !== undefined) checkShape(value, shape.optional, path);
  } else if ("listOf" in shape) {
    if (!Array.isArray(value) || value.length > MAX_ITEMS) {
      throw new TypeError(`${path} is no list of at most ${MAX_ITEMS} items`);
    }
    for (const [i, one] of value.entries()) checkShape(one, shape.listOf, `${path}[${i}]`);
  } else {
    if (typeof value !== "object" || value === null) throw new TypeError(`${path} is no object`);
    const fields = value as Readonly<Record<string, unknown>>;
    for (const [name, one] of Object.entries(shape.fields)) {
      checkShape(Object.hasOwn(fields, name) ? fields[name] : undefined, one, `${path}.${name}`);
    }
  }
}

function hasType(kind: "text" | "number" | "boolean" | "anything", value: unknown): boolean {
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
