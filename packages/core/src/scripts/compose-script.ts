import { createHash } from "node:crypto";
import type { LuaSource } from "../algorithms/algorithm.ts";
import type { CounterShape } from "./counter-shape.ts";
import { HOLDER_DIGITS } from "./digits.ts";
import type { Field } from "./lua-statements.ts";
import {
  declare,
  enclose,
  listed,
  packFields,
  rename,
  unpackFields,
  zero,
} from "./lua-statements.ts";
import { RULE_DIGITS } from "./rule-digits.ts";
import type { ScriptName } from "./script-argument.ts";
import { ScriptArgument } from "./script-argument.ts";
import type { NamedCounter, NamedLimit, Names } from "./script-names.ts";
import {
  areFields,
  nameCounters,
  nameIn,
  namesInLimits,
  namesOfCall,
  namesReported,
  numbersOf,
  stateFields,
  valueFields,
} from "./script-names.ts";
import { sectionIn, siblingOf, siblingSection } from "./sections.ts";

/** Names that stand for a section of a limit as an expression; the expressions of several limits are joined by this. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  ALLOWS: " and ",
  SOUND: " and ",
  OUTLIVES: " or ",
  EXCEEDS: "",
  AGE: "",
  USED: "",
  LEFT: "",
};

/** Names that stand for the place of a limit's field in the argument. */
const PLACES: readonly string[] = ["RULE_AT", "AFTER_AT", "THRESHOLDS_AT"];

/** Sections for limits that may block in a script, and for counters with such limits. */
const OF_BLOCKING = ["block", "exceeded"];

/**
 * Composes a script for the counters of a call. A section that each counter or limit needs is inserted for each, with names of
 * its own. SCRIPTS.md follows a script from its parts. `isByName`: for a cost by name, which is a separate number for each
 * limit; then a lone decision is a batch of one.
 */
export function composeScript(
  script: ScriptName,
  shapes: readonly CounterShape[],
  isByName = false,
): LuaSource {
  const source = new Composition(script, shapes, isByName).compose();
  return { source, sha1: createHash("sha1").update(source).digest("hex") };
}

class Composition {
  readonly #script: ScriptName;
  readonly #isSingle: boolean;
  /** Whether names are fields of tables. */
  readonly #inTables: boolean;
  /** Suffixes of section names that take precedence. */
  readonly #variants: string[] = [];
  readonly #counters: readonly NamedCounter[];
  readonly #argument: ScriptArgument;
  /** The replacements for names that are the same in the whole script. */
  readonly #names: Names;

  constructor(script: ScriptName, shapes: readonly CounterShape[], isByName: boolean) {
    const limits = shapes.flatMap((shape) => shape.limits);
    this.#script = script;
    this.#isSingle = script === "decide-lone";
    this.#inTables = areFields(shapes, isByName);
    if (isByName) this.#variants.push("by-name");
    // A batch writes its keys at the end; a log, which is read in parts, cannot wait for that.
    if (script === "decide-batch" && !limits.some(({ hasLog }) => hasLog)) {
      this.#variants.push("late");
    }
    let keys = 0;
    const nextKey = () => {
      keys += 1;
      return this.#isSingle ? `KEYS[${keys}]` : `KEYS[keyAt + ${keys}]`;
    };
    // A judgement need not remember until the end of a call that a block was set.
    const named =
      script === "judge" ? shapes.map((shape) => ({ ...shape, blocks: false })) : shapes;
    this.#counters = nameCounters(named, isByName, nextKey);
    this.#argument = new ScriptArgument(script, this.#counters);
    this.#names = this.#namesOfScript(keys);
  }

  compose(): string {
    const text = this.#expand(this.#section(this.#isSingle ? "lone" : "batch"));
    return text.replace(/^\s+/gm, "").trim();
  }

  #namesOfScript(keyCount: number): Names {
    const values = this.#counters.flatMap(({ names, limits }) => [
      nameIn(names, "value"),
      ...limits.flatMap(({ shape, names: own }) =>
        (shape.reported ?? []).map((name) => nameIn(own, name)),
      ),
    ]);
    const digits = this.#isSingle ? "ARGV[1]" : "ARGV[run]";
    return new Map([
      ["CLOCK", this.#isSingle ? "ARGV[2]" : 'ARGV[1] ~= "" and ARGV[1]'],
      ["DIGITS", digits],
      // The holder of slots comes last.
      ["HOLDER", `string.sub(${digits}, -${HOLDER_DIGITS})`],
      ["COST_AT", String(this.#argument.offsetOf("cost"))],
      ["HOLDERS_AT", String(this.#argument.size + 1)],
      ["KEY_COUNT", String(keyCount)],
      ["CHARGED", listed([...values, ...namesInLimits(this.#counters, "reached")])],
      ["REPORTED", values.join(", ")],
      ["COUNTED", this.#counted()],
    ]);
  }

  /** The answer of a charge: the units, and its report. */
  #counted(): string {
    const byName = namesInLimits(this.#counters, "counted");
    const told = this.#counters.flatMap(namesReported);
    return byName.length > 0 ? [...byName, ...told].join(", ") : listed(["counted", ...told]);
  }

  /** A text for the whole call, for one of its counters, or for one limit of that. */
  #expand(text: string, counter?: NamedCounter, limit?: NamedLimit): string {
    const filled = text.replace(/^ *--- @(\w+) ([\w-]+)\n/gm, (_, directive, operand) =>
      this.#follow(directive, operand, counter, limit),
    );
    const names = counter?.names ?? this.#names;
    return rename(
      filled,
      (name) => limit?.names.get(name) ?? names.get(name) ?? this.#expression(name, counter, limit),
    );
  }

  /** The text that replaces a directive, which is a line by itself. */
  #follow(directive: string, operand: string, counter?: NamedCounter, limit?: NamedLimit): string {
    switch (directive) {
      case "include": {
        const own = limit && (this.#ownSection(limit, operand) || siblingSection(operand));
        return this.#expand(own ?? this.#section(operand), counter, limit);
      }
      case "counters":
        return this.#counters
          .filter(
            ({ limits }) =>
              !OF_BLOCKING.includes(operand) ||
              limits.some((limit) => this.#argument.mayBlock(limit)),
          )
          .map((each) => enclose(this.#expand(this.#section(operand), each)))
          .join("");
      case "limits":
        return this.#ofLimits(operand, counter).map(enclose).join("");
      case "code":
        return this.#code(operand, counter as NamedCounter, limit);
      default:
        throw new Error(`no directive @${directive}`);
    }
  }

  /** A section of the operation, or one shared by all operations. */
  #section(name: string): string {
    const [operation = ""] = this.#script.split("-");
    const variants = [...this.#variants.map((variant) => `${name}-${variant}`), name];
    const files = variants.flatMap((each) => [
      sectionIn(operation, each),
      sectionIn("counter", each),
    ]);
    const text = files.find((each) => each !== "");
    if (text === undefined) throw new Error(`no section ${name} for ${this.#script}`);
    return text;
  }

  /** A section of a limit's algorithm. */
  #ownSection({ shape }: NamedLimit, name: string): string {
    const text = sectionIn(shape.part, name) || sectionIn("limit", name);
    const around = this.#variants.includes("by-name") ? sectionIn("limit", `${name}-by-name`) : "";
    return text === "" || around === "" ? text : around.replace(/(?:^ +)?OWN/m, () => text.trim());
  }

  /** The texts of a section, for all limits that have it, for those of a counter, or for one. */
  #ofLimits(section: string, counter?: NamedCounter, limit?: NamedLimit): string[] {
    const counters = counter === undefined ? this.#counters : [counter];
    return counters.flatMap((each) =>
      (limit === undefined ? each.limits : [limit]).flatMap((own) => {
        if (OF_BLOCKING.includes(section) && !this.#argument.mayBlock(own)) return [];
        const texts = [this.#ownSection(own, section), ...siblingOf(own.shape, section)];
        return texts.filter((text) => text !== "").map((text) => this.#expand(text, each, own));
      }),
    );
  }

  /** The expression for a name in capitals. */
  #expression(name: string, counter?: NamedCounter, limit?: NamedLimit): string | undefined {
    const joint = EXPRESSIONS[name];
    if (joint !== undefined) {
      const texts = this.#ofLimits(name.toLowerCase(), counter, limit);
      return texts.map((text) => text.trim()).join(joint) || "false";
    }
    if (name === "PACKED" && counter !== undefined) return this.#pack(counter);
    if (limit === undefined || !PLACES.includes(name)) return undefined;
    if (name === "THRESHOLDS_AT") return String(this.#offsetIn(limit, "thresholds"));
    const ruleAt = this.#offsetIn(limit, "rules");
    return String(name === "RULE_AT" ? ruleAt : ruleAt + RULE_DIGITS);
  }

  /** How many digits of the argument are before a field of a limit. */
  #offsetIn({ names }: NamedLimit, field: string): number {
    return this.#argument.offsetOf(nameIn(names, field));
  }

  /** Statements about numbers: those of the argument, one that is read later, or those of a counter or limit. */
  #code(what: string, counter: NamedCounter, limit?: NamedLimit): string {
    switch (what) {
      case "numbers":
        return (this.#inTables ? "local numbers = {}\n" : "") + this.#argument.read();
      case "names":
        return (this.#inTables ? "local own = {}\n" : "") + declare(this.#ownNames());
      case "unpack":
        return unpackFields(valueFields(counter));
      case "zero":
        return zero(limit ? numbersOf(limit) : stateFields(counter).map(([name]) => name));
      default:
        return this.#argument.readLater(what);
    }
  }

  #ownNames(): string[] {
    const counted = this.#script === "charge" ? namesInLimits(this.#counters, "counted") : [];
    return [...namesOfCall(this.#counters), ...counted];
  }

  /** The expression that builds a counter's current value. */
  #pack(counter: NamedCounter): string {
    const [[, bytes], ...fields] = valueFields(counter) as [Field, ...Field[]];
    const tails = this.#ofLimits("pack", counter).map((text) => text.trim());
    return [...packFields([["now", bytes], ...fields]), ...tails].join(" .. ");
  }
}
