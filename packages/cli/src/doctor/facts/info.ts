/** The fields of all sections of INFO. */
export type Info = Readonly<Record<string, string>>;

/** Parses the reply to INFO or CLUSTER INFO. */
export function parseInfo(text: string): Info {
  const lines = text.split(/\r?\n/).filter((line) => /^[^#:][^:]*:/.test(line));
  return Object.fromEntries(
    lines.map((line) => [line.slice(0, line.indexOf(":")), line.slice(line.indexOf(":") + 1)]),
  );
}

/** The number in a field; undefined if the field is missing or not a number. */
export function numberOf(fields: Info, field: string): number | undefined {
  const text = fields[field];
  return text === undefined || text === "" || Number.isNaN(Number(text)) ? undefined : Number(text);
}

/** One of several numbers in a field: 3 for the part `calls` of `calls=3,usec=10`. 0 if the field is missing. */
export function partOf(fields: Info, field: string, part: string): number {
  const parts = (fields[field] ?? "").split(",").map((text) => text.split("="));
  return Number(parts.find(([name]) => name === part)?.[1] ?? 0);
}

/** The name and version of a server: `valkey 8.0.1`. */
export function serverVersionOf(info: Info): { readonly name: string; readonly version: string } {
  const name =
    info["server_name"] ??
    ["dragonfly", "keydb"].find((other) => info[`${other}_version`] !== undefined) ??
    "redis";
  return { name, version: info[`${name}_version`] ?? info["redis_version"] ?? "" };
}
