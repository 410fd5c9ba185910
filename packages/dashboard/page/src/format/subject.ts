import type { SubjectOf } from "../../../src/api.ts";

/** A subject in words: `203.0.113.7`, or `tenant acme, user ada` if its dimensions have names of their own. */
export function subjectInWords(subject: SubjectOf | undefined): string {
  if (subject === undefined) return "all subjects";
  return Object.entries(subject)
    .map(([dimension, value]) => (isPlain(dimension) ? value : `${dimension} ${value}`))
    .join(", ");
}

/** Whether a dimension needs no mention. */
export function isPlain(dimension: string): boolean {
  return ["default", "target"].includes(dimension);
}

/** A limit in words, without its algorithm and its name, which is shown beside it: `20 per 10 seconds for each client`. */
export function limitInWords(words: string, name: string): string {
  const rest = words.startsWith(`${name}: `) ? words.slice(name.length + 2) : words;
  return rest.replace(
    / \((?:gcra|tokenBucket|fixedWindow|slidingWindow|slidingLog|concurrency)\)$/,
    "",
  );
}
