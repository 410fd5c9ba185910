import type { BlockRule, CompiledLimit } from "../algorithms/algorithm.ts";
import { LEVELS } from "../algorithms/read-block.ts";
import { DURATION_DIGITS, digitsOf } from "./digits.ts";

/** Digits of the rule by which a limit blocks: see blocks.lua. */
export const RULE_DIGITS: number = (1 + LEVELS) * DURATION_DIGITS;

/** Instead of a rule: nobody is blocked. */
const NO_RULE: string = "\0".repeat(RULE_DIGITS);

/** Those that were asked for: a rule is read with its limit, and written with each decision. */
const written = new WeakMap<BlockRule, string>();

/** The rules of the limits that block, as the scripts take them; without permission to block, none does. */
export function rulesOf(limits: readonly CompiledLimit[], mayBlock: boolean): string {
  let rules = "";
  for (const { block } of limits) {
    if (block !== undefined) rules += mayBlock ? digitsOfRule(block) : NO_RULE;
  }
  return rules;
}

/** A rule; its last span repeats. */
function digitsOfRule(rule: BlockRule): string {
  const known = written.get(rule);
  if (known !== undefined) return known;
  const { spans, quiet } = rule;
  const all = Array.from({ length: LEVELS }, (_, level) => spans[level] ?? spans.at(-1));
  const times = [quiet, ...all] as number[];
  const digits = times.map((time) => digitsOf(time / 1_000, DURATION_DIGITS)).join("");
  written.set(rule, digits);
  return digits;
}
