import type { BlockRule, CompiledLimit, LimitShape, NotifyRule } from "../algorithms/algorithm.ts";
import { MAX_LEVELS } from "../algorithms/blocks.ts";
import { MAX_THRESHOLDS } from "../algorithms/thresholds.ts";
import { DURATION_DIGITS, encodeDigits, PARAMETER_DIGITS } from "./digits.ts";

/** Digits of a block rule: see blocks.lua. */
export const RULE_DIGITS: number = (1 + MAX_LEVELS) * DURATION_DIGITS;

/** Additional digits for the number of denials that set a block: at most 10^6, below 2^21. */
const AFTER_DIGITS = 3;

/** Digits of the thresholds of a limit: see thresholds.lua. */
export const THRESHOLD_DIGITS: number = DURATION_DIGITS + MAX_THRESHOLDS * PARAMETER_DIGITS;

/** The block rules for calls that may not block. */
const NO_RULE: string = "\0".repeat(RULE_DIGITS);
const NO_RULE_AFTER: string = "\0".repeat(RULE_DIGITS + AFTER_DIGITS);

/** Encoded rules, because a rule is sent with each decision. */
const encodedRules = new WeakMap<BlockRule | NotifyRule, string>();

/** The event on which limits block. */
type BlocksBy = "blocksOnDenial" | "blocksOnSettle";

/** The number of digits of a limit's block rule. */
export function ruleDigitsOf({ countsDenials }: LimitShape): number {
  return countsDenials ? RULE_DIGITS + AFTER_DIGITS : RULE_DIGITS;
}

/** The rules of the limits that block on this event, as passed to the scripts. Without `mayBlock` none of them sets a block. */
export function encodeBlockRules(
  limits: readonly CompiledLimit[],
  by: BlocksBy,
  mayBlock: boolean,
): string {
  let rules = "";
  for (const { block, shape } of limits) {
    if (block === undefined || !shape[by]) continue;
    if (mayBlock) rules += encodeBlockRule(block);
    else rules += shape.countsDenials ? NO_RULE_AFTER : NO_RULE;
  }
  return rules;
}

/** Encodes a rule for all levels: its last duration repeats. */
function encodeBlockRule(rule: BlockRule): string {
  const cached = encodedRules.get(rule);
  if (cached !== undefined) return cached;
  const { durations, quietPeriod, after } = rule;
  const all = Array.from(
    { length: MAX_LEVELS },
    (_, level) => durations[level] ?? durations.at(-1),
  );
  const times = [quietPeriod, ...all] as number[];
  const encodedDurations = times
    .map((time) => encodeDigits(time / 1_000, DURATION_DIGITS))
    .join("");
  const digits =
    after === undefined ? encodedDurations : encodedDurations + encodeDigits(after, AFTER_DIGITS);
  encodedRules.set(rule, digits);
  return digits;
}

/** The thresholds of the limits that notify, as passed to the scripts. */
export function encodeThresholds(limits: readonly CompiledLimit[]): string {
  let thresholds = "";
  for (const { notify } of limits) {
    if (notify !== undefined) thresholds += encodeNotifyRule(notify);
  }
  return thresholds;
}

function encodeNotifyRule(rule: NotifyRule): string {
  const cached = encodedRules.get(rule);
  if (cached !== undefined) return cached;
  const units = Array.from({ length: MAX_THRESHOLDS }, (_, i) => rule.units[i] ?? 0);
  const digits =
    encodeDigits(rule.repeatAfter / 1_000, DURATION_DIGITS) +
    units.map((each) => encodeDigits(each, PARAMETER_DIGITS)).join("");
  encodedRules.set(rule, digits);
  return digits;
}
