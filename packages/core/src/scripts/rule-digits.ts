import type { BlockRule, CompiledLimit, LimitShape, NotifyRule } from "../algorithms/algorithm.ts";
import { LEVELS } from "../algorithms/blocks.ts";
import { MOST_THRESHOLDS } from "../algorithms/thresholds.ts";
import { DURATION_DIGITS, digitsOf, NUMBER_DIGITS } from "./digits.ts";

/** Digits of a limit's block rule: see blocks.lua. */
export const RULE_DIGITS: number = (1 + LEVELS) * DURATION_DIGITS;

/** Additional digits if several denials block: how many. At most 10^6, below 2^21. */
const AFTER_DIGITS = 3;

/** Digits of the rule by which a limit notifies: see thresholds.lua. */
export const THRESHOLD_DIGITS: number = DURATION_DIGITS + MOST_THRESHOLDS * NUMBER_DIGITS;

/** Instead of a rule: nobody is blocked. */
const NO_RULE: string = "\0".repeat(RULE_DIGITS);
const NO_RULE_AFTER: string = "\0".repeat(RULE_DIGITS + AFTER_DIGITS);

/** Those that were asked for: a rule is read with its limit, and written with each decision. */
const written = new WeakMap<BlockRule | NotifyRule, string>();

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

/** The thresholds of the limits that notify, as the scripts take them. */
export function thresholdsOf(limits: readonly CompiledLimit[]): string {
  let thresholds = "";
  for (const { notify } of limits) {
    if (notify !== undefined) thresholds += digitsOfThresholds(notify);
  }
  return thresholds;
}

function digitsOfThresholds(rule: NotifyRule): string {
  const known = written.get(rule);
  if (known !== undefined) return known;
  const units = Array.from({ length: MOST_THRESHOLDS }, (_, i) => rule.units[i] ?? 0);
  const digits =
    digitsOf(rule.span / 1_000, DURATION_DIGITS) +
    units.map((each) => digitsOf(each, NUMBER_DIGITS)).join("");
  written.set(rule, digits);
  return digits;
}
