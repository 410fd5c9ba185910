import { COUNT_DIGITS, LONG_DIGITS, PARAMETER_DIGITS } from "./digits.ts";
import { ruleDigitsOf, THRESHOLD_DIGITS } from "./encode-rules.ts";
import type { Field } from "./lua-statements.ts";
import { declareLocals, readDigits, sizeOf } from "./lua-statements.ts";
import type { NamedCounter, NamedLimit } from "./script-names.ts";
import { getName, namesInLimits } from "./script-names.ts";

/** The scripts that are composed. */
export type ScriptName =
  | "decide-single"
  | "decide-batch"
  | "decide-up-to"
  | "peek"
  | "charge"
  | "refund"
  | "confirm"
  | "block"
  | "slots";

/**
 * The fields of a call's argument after the parameters of its limits: `rules` for each limit that may block in the script,
 * `thresholds` for each limit that notifies, `chargedGeneration` for each counter and, if the cost is by name, `cost` and
 * `chargedUnits` for each limit.
 */
const FIELDS: Readonly<Record<ScriptName, readonly string[]>> = {
  "decide-single": ["rules", "thresholds", "generation", "cost"],
  "decide-batch": ["requests", "cost", "rules", "thresholds", "generation"],
  "decide-up-to": ["requests", "cost", "rules", "thresholds", "generation"],
  peek: ["requests", "cost"],
  charge: ["requests", "cost", "thresholds", "generation"],
  refund: ["requests", "chargedUnits", "chargedAt", "chargedGeneration"],
  confirm: [
    "requests",
    "cost",
    "chargedUnits",
    "chargedAt",
    "chargedGeneration",
    "rules",
    "generation",
  ],
  block: ["requests", "span", "generation"],
  slots: ["requests", "renews"],
};

/** Digits of the fields that are neither times, costs nor rules. */
const DIGITS: Readonly<Record<string, number>> = {
  requests: COUNT_DIGITS,
  chargedGeneration: PARAMETER_DIGITS,
  generation: PARAMETER_DIGITS,
  renews: 1,
};

/** The argument of a call, in digits. */
export class ScriptArgument {
  readonly #script: ScriptName;
  readonly #fields: readonly Field[];
  /** Fields that few calls need, which the script reads where it uses them. */
  readonly #lazyFields: readonly string[];

  constructor(script: ScriptName, counters: readonly NamedCounter[]) {
    this.#script = script;
    const limits = counters.flatMap((counter) => counter.limits);
    const rules = limits
      .filter((limit) => this.mayBlock(limit))
      .map(({ shape, names }): Field => [getName(names, "rules"), ruleDigitsOf(shape)]);
    const thresholds = namesInLimits(counters, "thresholds").map(
      (name): Field => [name, THRESHOLD_DIGITS],
    );
    const fieldsOf = (name: string): readonly Field[] => {
      if (name === "rules") return rules;
      if (name === "thresholds") return thresholds;
      const digits = DIGITS[name] ?? LONG_DIGITS;
      const own =
        name === "chargedGeneration"
          ? counters.map(({ names }) => getName(names, name))
          : namesInLimits(counters, name);
      return own.length === 0 ? [[name, digits]] : own.map((each) => [each, digits]);
    };
    this.#fields = [
      ...limits.flatMap(({ shape, names }) =>
        shape.parameters.map((name): Field => [getName(names, name), PARAMETER_DIGITS]),
      ),
      ...limits.flatMap(({ shape, names }) =>
        (shape.boundaries ?? []).map((name): Field => [getName(names, name), LONG_DIGITS]),
      ),
      ...FIELDS[script].flatMap(fieldsOf),
    ];
    const later = script === "decide-single" ? ["generation", "cost"] : ["generation"];
    this.#lazyFields = [...later, ...[...rules, ...thresholds].map(([name]) => name)];
  }

  /** Its length in digits. */
  get size(): number {
    return sizeOf(this.#fields);
  }

  /** Whether a limit may block in this script, so that its rule is passed. */
  mayBlock({ shape: { blocksOnDenial, blocksOnSettle } }: NamedLimit): boolean {
    return (this.#script === "confirm" ? blocksOnSettle : blocksOnDenial) === true;
  }

  /** The offset of a field, in digits. */
  offsetOf(field: string): number {
    const index = this.#fields.findIndex(([name]) => name === field);
    return sizeOf(this.#fields.slice(0, index));
  }

  /** Statements that declare and read the fields that every call needs. */
  readStatements(): string {
    const fields = this.#fields.filter(([name]) => !this.#lazyFields.includes(name));
    return declareLocals(fields.map(([name]) => name)) + readDigits(fields, 1);
  }

  lazyReadStatements(field: string): string {
    return readDigits(
      this.#fields.filter(([name]) => name === field),
      this.offsetOf(field) + 1,
    );
  }
}
