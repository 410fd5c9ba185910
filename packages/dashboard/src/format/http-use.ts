import type { HttpUse, SubjectSource } from "@headgate/core/admin";

/** How an adapter counts requests: `express, by address (IPv6 by /64); without a key: by address`. */
export function formatHttpUse({ adapter, keys, missingKey, addressHeader }: HttpUse): string {
  const entries = Object.entries(keys).map(([dimension, source]) =>
    dimension === "default"
      ? formatSubjectSource(source)
      : `${dimension} ${formatSubjectSource(source)}`,
  );
  const by = entries.length === 0 ? "all clients together" : entries.join(", ");
  const header = addressHeader === undefined ? "" : `; the address is in ${addressHeader}`;
  return `${adapter}: ${by}; without a key: ${MISSING_KEY[missingKey] ?? missingKey}${header}`;
}

const MISSING_KEY: Readonly<Record<string, string>> = {
  ip: "by address",
  reject: "refused",
  skip: "not counted",
};

/** The source of a subject as text. */
export function formatSubjectSource(source: SubjectSource): string {
  switch (source.by) {
    case "ip":
      return source.ipv4Prefix === undefined
        ? `by address (IPv6 by /${source.ipv6Prefix})`
        : `by address (IPv4 by /${source.ipv4Prefix}, IPv6 by /${source.ipv6Prefix})`;
    case "header":
      return `by the header ${source.name}`;
    case "combined":
      return source.keys.map(formatSubjectSource).join(" with ");
    default:
      return "by a function of the application";
  }
}
