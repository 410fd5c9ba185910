import type { BlockRule, CompiledLimit, LimitShape } from "../algorithms/algorithm.ts";
import { LEVELS } from "../algorithms/blocks.ts";
import { DURATION_DIGITS, digitsOf } from "./digits.ts";

/** Digits of a limit's block rule: see blocks.lua. */
export const RULE_DIGITS: number = (1 + LEVELS) * DURATION_DIGITS;

/** Additional digits if several denials block: how many. At most 10^6, below 2^21. */
const AFTER_DIGITS = 3;

/** In place of a rule: no denial blocks. */
const NO_RULE: string = "\0".repeat(RULE_DIGITS);
const NO_RULE_AFTER: string = "\0".repeat(RULE_DIGITS + AFTER_DIGITS);

/** The rules written so far: a rule is read with its limit, but written with each decision. */
const written = new WeakMap<BlockRule, string>();

/** What makes limits block: a denial, or confirmed charges. */
type BlocksBy = "blocks" | "keeps";

/** How many digits the rule of a limit has. */
export function ruleDigitsOf({ countsDenials }: LimitShape): number {
  return countsDenials ? RULE_DIGITS + AFTER_DIGITS : RULE_DIGITS;
}

/** The rules of the limits that block in this way, as passed to the scripts; without permission to block, none does. */
export function rulesOf(limits: readonly CompiledLimit[], by: BlocksBy, mayBlock: boolean): string {
  let rules = "";
  for (const { block, shape } of limits) {
    if (block === undefined || !shape[by]) continue;
    if (mayBlock) rules += digitsOfRule(block);
    else rules += shape.countsDenials ? NO_RULE_AFTER : NO_RULE;
  }
  return rules;
}

/** A rule; its last span repeats. */
function digitsOfRule(rule: BlockRule): string {
  const known = written.get(rule);
  if (known !== undefined) return known;
  const { spans, quiet, after } = rule;
  const all = Array.from({ length: LEVELS }, (_, level) => spans[level] ?? spans.at(-1));
  const times = [quiet, ...all] as number[];
  const lengths = times.map((time) => digitsOf(time / 1_000, DURATION_DIGITS)).join("");
  const digits = after === undefined ? lengths : lengths + digitsOf(after, AFTER_DIGITS);
  written.set(rule, digits);
  return digits;
}
