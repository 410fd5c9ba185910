import type { Recommendation } from "../recommend/recommendation.ts";
import type { ReplayResult } from "../replay/result.ts";
import { recommendationReport } from "./recommendation-report.ts";
import type { Report } from "./replay-report.ts";
import { replayReport } from "./replay-report.ts";

const counts: Shape = { listOf: "number" };

const log: Shape = {
  fields: {
    files: { listOf: "text" },
    lines: "number",
    requests: "number",
    clients: "number",
    malformed: "number",
    examples: {
      listOf: { fields: { file: "text", number: "number", text: "text", reason: "text" } },
    },
    reordered: "number",
    late: "number",
    from: { optional: "number" },
    to: { optional: "number" },
  },
};

const client: Shape = {
  fields: {
    client: "text",
    requests: "number",
    denied: "number",
    firstDeniedAt: "number",
    lastDeniedAt: "number",
    longestWaitMs: "number",
    agent: { optional: "text" },
    paths: { optional: { listOf: { fields: { path: "text", denied: "number" } } } },
    timeline: { optional: { fields: { requests: counts, denied: counts } } },
  },
};

const grant: Shape = { fields: { units: "number", windowMs: "number" } };

const policy: Shape = {
  fields: {
    name: "text",
    description: { fields: { text: "text", code: "text", grants: { listOf: grant } } },
    allowed: "number",
    denied: "number",
    clientsDenied: "number",
    timeline: counts,
    clients: { listOf: client },
    waitsMs: {
      optional: { fields: { p50: "number", p90: "number", p99: "number", max: "number" } },
    },
    evicted: "number",
  },
};

const peaks: Shape = {
  fields: {
    windowMs: "number",
    counts: { listOf: { fields: { peak: "number", clients: "number" } } },
    error: "number",
  },
};

const replay: Shape = {
  fields: {
    log,
    columnMs: "number",
    timeline: counts,
    policies: { listOf: policy },
    peaks: { listOf: peaks },
  },
};

const SCORE = {
  clients: "number",
  clientsDenied: "number",
  requests: "number",
  denied: "number",
} as const;
const scoreShape: Shape = { fields: { ...SCORE, meetsTarget: "boolean" } };

const recommendation: Shape = {
  fields: {
    log,
    target: { fields: { of: "text", percent: "number", maxDenied: "number" } },
    proposal: {
      fields: {
        window: "text",
        units: "number",
        reason: "text",
        replays: { listOf: { fields: { ...SCORE, units: "number", meetsTarget: "boolean" } } },
        holdout: {
          optional: {
            fields: {
              ...SCORE,
              units: "number",
              meetsTarget: "boolean",
              proposal: scoreShape,
              from: "number",
            },
          },
        },
        maxPerDay: "number",
        busiestClientPerDay: "number",
      },
    },
    windows: {
      listOf: {
        fields: {
          ...SCORE,
          window: "text",
          units: "number",
          isLogLongEnough: "boolean",
          excessAtOnce: "number",
          excessOverTime: "number",
        },
      },
    },
    caveats: { listOf: "text" },
    replay,
  },
};

/**
 * Parses and draws the output of `headgate replay --json` or `headgate recommend --json`. The text is untrusted: throws an error whose
 * message says what is wrong with it.
 */
export function parseReport(text: string): Report {
  const document: unknown = JSON.parse(text);
  const isRecommended =
    typeof document === "object" && document !== null && Object.hasOwn(document, "proposal");
  if (!isRecommended) {
    checkShape(document, replay, "the report");
    requirePolicies((document as ReplayResult).policies);
    return replayReport(document as ReplayResult);
  }
  checkShape(document, recommendation, "the report");
  requirePolicies((document as Recommendation).replay.policies);
  return recommendationReport(document as Recommendation);
}

function requirePolicies({ length }: readonly unknown[]): void {
  if (length === 0) throw new TypeError("the report has no policy");
}

/** The shape of a JSON value: a type, a list, an object with fields, or one of these that may be null or missing. */
type Shape =
  | "text"
  | "number"
  | "boolean"
  | { readonly listOf: Shape }
  | { readonly fields: Readonly<Record<string, Shape>> }
  | { readonly optional: Shape };

/** The most items that a list in a report may have. */
const MAX_ITEMS = 100_000;

/** Throws a `TypeError` that names the path, unless a value has the shape. Numbers must not be negative, because they are counts and times. */
function checkShape(value: unknown, shape: Shape, path: string): void {
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

function hasType(kind: "text" | "number" | "boolean", value: unknown): boolean {
  switch (kind) {
    case "text":
      return typeof value === "string";
    case "number":
      return typeof value === "number" && Number.isFinite(value) && value >= 0;
    case "boolean":
      return typeof value === "boolean";
  }
}
