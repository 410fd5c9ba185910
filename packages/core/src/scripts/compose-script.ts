import { createHash } from "node:crypto";
import type { LimitShape, LuaSource } from "../algorithms/algorithm.ts";
import type { CounterShape } from "./counter-shape.ts";
import { HOLDER_DIGITS } from "./digits.ts";
import { RULE_DIGITS } from "./encode-rules.ts";
import { parts } from "./lua.generated.ts";
import type { Field } from "./lua-statements.ts";
import {
  declareLargest,
  declareLocals,
  enclose,
  formatTable,
  packFields,
  setToZero,
  unpackFields,
} from "./lua-statements.ts";
import type { ScriptName } from "./script-argument.ts";
import { ScriptArgument } from "./script-argument.ts";
import type { NamedCounter, NamedLimit, Names } from "./script-names.ts";
import {
  callNames,
  getName,
  limitNumbers,
  nameCounters,
  namesInLimits,
  needsTables,
  reportedNames,
  stateFields,
  valueFields,
} from "./script-names.ts";

/** Names that stand for a section of limits as an expression, with the operator that joins the expressions of several limits. */
const EXPRESSIONS: Readonly<Record<string, string>> = {
  ALLOWS: " and ",
  VALID: " and ",
  OUTLIVES: " or ",
  MUST_SET: " or ",
  EXCEEDS: "",
  WINDOW_AGE: "",
  USED: "",
  LEFT: "",
  WINDOW_LEFT: "",
};

/** Names that stand for the offset of a limit's field in the argument. */
const OFFSET_NAMES: readonly string[] = ["RULE_AT", "AFTER_AT", "THRESHOLDS_AT"];

/** A directive, or a name that is neither a field of a table nor the text of a string. */
const DIRECTIVE_OR_NAME = /^ *--- @(\w+) ([\w-]+)\n|(?<![.\w"])[A-Za-z]\w*(?![\w"])/gm;

/** Sections that apply only to limits that may block in a script, and to counters with such limits. */
const BLOCK_SECTIONS = ["block", "exceeded"];

/**
 * Composes a script for the counters of a call. A section for each counter or limit is inserted once for each, with names of
 * its own. SCRIPTS.md explains one script in full. `isByName`: for a cost by name, which is a separate number for each
 * limit; then a single decision is a batch of one.
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
  /** Whether names are fields of tables, because there are too many for local names. */
  readonly #inTables: boolean;
  /** Suffixes of sections that take precedence. */
  readonly #variants: string[] = [];
  readonly #counters: readonly NamedCounter[];
  readonly #argument: ScriptArgument;
  /** Replacements of names for the whole script. */
  readonly #names: Names;

  constructor(script: ScriptName, shapes: readonly CounterShape[], isByName: boolean) {
    const limits = shapes.flatMap((shape) => shape.limits);
    this.#script = script;
    this.#isSingle = script === "decide-single";
    this.#inTables = needsTables(shapes, isByName);
    if (isByName) this.#variants.push("by-name");
    if (script === "decide-up-to") this.#variants.push("up-to");
    // A batch writes its keys at the end; a log, which is read in parts, cannot wait for that.
    const isBatch = script === "decide-batch" || script === "decide-up-to";
    if (isBatch && !limits.some(({ hasLog }) => hasLog)) {
      this.#variants.push("late");
    }
    let keys = 0;
    const nextKey = () => {
      keys += 1;
      if (this.#isSingle) return `KEYS[${keys}]`;
      return keys === 1 ? "KEYS[keyAt]" : `KEYS[keyAt + ${keys - 1}]`;
    };
    // A confirmation need not remember until the end of a call that a block was set.
    const named =
      script === "confirm" ? shapes.map((shape) => ({ ...shape, blocksOnDenial: false })) : shapes;
    this.#counters = nameCounters(named, isByName, nextKey);
    this.#argument = new ScriptArgument(script, this.#counters);
    this.#names = this.#namesOfScript(keys);
  }

  compose(): string {
    const text = this.#expand(this.#section(this.#isSingle ? "single" : "batch"));
    return text.replace(/^\s+/gm, "").trim();
  }

  #namesOfScript(keyCount: number): Names {
    const values = this.#counters.flatMap(({ names, limits }) => [
      getName(names, "value"),
      ...limits.flatMap(({ shape, names: own }) =>
        (shape.reported ?? []).map((name) => getName(own, name)),
      ),
    ]);
    const granted = this.#script === "decide-up-to" ? ["cost"] : [];
    return new Map([
      ["CLOCK", this.#isSingle ? "ARGV[2]" : 'ARGV[1] ~= "" and ARGV[1]'],
      // The holder of slots comes last.
      ["HOLDER", `string.sub(digits, -${HOLDER_DIGITS})`],
      ["COST_AT", String(this.#argument.offsetOf("cost"))],
      ["HOLDERS_AT", String(this.#argument.size + 1)],
      ["KEY_COUNT", String(keyCount)],
      [
        "CHARGED",
        formatTable([...values, ...namesInLimits(this.#counters, "reached"), ...granted]),
      ],
      ["REPORTED", values.join(", ")],
      ["COUNTED", this.#chargeAnswer()],
    ]);
  }

  /** The answer of a charge: the charged units, and the reached thresholds. */
  #chargeAnswer(): string {
    const byName = namesInLimits(this.#counters, "counted");
    const reported = this.#counters.flatMap(reportedNames);
    return byName.length > 0
      ? [...byName, ...reported].join(", ")
      : formatTable(["counted", ...reported]);
  }

  /**
   * Expands a text for the whole call, for one of its counters, or for one limit of a counter. What replaces a directive is
   * expanded already, so that each text is read once: the first decision of a process waits for this.
   */
  #expand(text: string, counter?: NamedCounter, limit?: NamedLimit): string {
    return text.replace(DIRECTIVE_OR_NAME, (name, directive?: string, operand = "") =>
      directive === undefined
        ? this.#replacementOf(name, counter, limit)
        : this.#applyDirective(directive, operand, counter, limit),
    );
  }

  #replacementOf(name: string, counter?: NamedCounter, limit?: NamedLimit): string {
    return (
      limit?.names.get(name) ??
      counter?.names.get(name) ??
      this.#names.get(name) ??
      this.#expression(name, counter, limit) ??
      name
    );
  }

  #applyDirective(
    directive: string,
    operand: string,
    counter?: NamedCounter,
    limit?: NamedLimit,
  ): string {
    switch (directive) {
      case "include": {
        const own = limit && (this.#ownSection(limit, operand) || extensionSection(operand));
        return this.#expand(own ?? this.#section(operand), counter, limit);
      }
      case "counters":
        return this.#counters
          .filter(
            ({ limits }) =>
              !BLOCK_SECTIONS.includes(operand) ||
              limits.some((limit) => this.#argument.mayBlock(limit)),
          )
          .map((each) => enclose(this.#expand(this.#section(operand), each)))
          .join("");
      case "limits":
        return this.#limitSections(operand, counter).map(enclose).join("");
      case "code":
        return this.#expand(this.#statements(operand, counter as NamedCounter, limit), counter);
      default:
        throw new Error(`no directive @${directive}`);
    }
  }

  /** A section of the operation, or one shared by all operations. */
  #section(name: string): string {
    const [operation = ""] = this.#script.split("-");
    const variants = [...this.#variants.map((variant) => `${name}-${variant}`), name];
    const files = variants.flatMap((each) => [
      findSection(operation, each),
      findSection("counter", each),
    ]);
    const text = files.find((each) => each !== "");
    if (text === undefined) throw new Error(`no section ${name} for ${this.#script}`);
    return text;
  }

  #ownSection({ shape }: NamedLimit, name: string): string {
    const text = findSection(shape.luaFile, name) || findSection("limit", name);
    const around = this.#variants.includes("by-name")
      ? findSection("limit", `${name}-by-name`)
      : "";
    return text === "" || around === "" ? text : around.replace(/(?:^ +)?OWN/m, () => text.trim());
  }

  /** The texts of a section for all limits that have it, for the limits of a counter, or for one limit. */
  #limitSections(section: string, counter?: NamedCounter, limit?: NamedLimit): string[] {
    const counters = counter === undefined ? this.#counters : [counter];
    return counters.flatMap((each) =>
      (limit === undefined ? each.limits : [limit]).flatMap((own) => {
        if (BLOCK_SECTIONS.includes(section) && !this.#argument.mayBlock(own)) return [];
        const texts = [this.#ownSection(own, section), ...extensionSectionsOf(own.shape, section)];
        return texts.filter((text) => text !== "").map((text) => this.#expand(text, each, own));
      }),
    );
  }

  #expression(name: string, counter?: NamedCounter, limit?: NamedLimit): string | undefined {
    const operator = EXPRESSIONS[name];
    if (operator !== undefined) {
      const texts = this.#limitSections(name.toLowerCase().replace("_", "-"), counter, limit);
      return texts.map((text) => text.trim()).join(operator) || "false";
    }
    if (name === "PACKED" && counter !== undefined) return this.#pack(counter);
    if (limit === undefined || !OFFSET_NAMES.includes(name)) return undefined;
    if (name === "THRESHOLDS_AT") return String(this.#offsetIn(limit, "thresholds"));
    const ruleAt = this.#offsetIn(limit, "rules");
    return String(name === "RULE_AT" ? ruleAt : ruleAt + RULE_DIGITS);
  }

  /** The offset of a limit's field in the argument, in digits. */
  #offsetIn({ names }: NamedLimit, field: string): number {
    return this.#argument.offsetOf(getName(names, field));
  }

  /** Statements that read, declare, unpack, compare or zero numbers of the argument, a counter or a limit. */
  #statements(statementKind: string, counter: NamedCounter, limit?: NamedLimit): string {
    switch (statementKind) {
      case "numbers":
        return (this.#inTables ? "local numbers = {}\n" : "") + this.#argument.readStatements();
      case "names":
        return (this.#inTables ? "local own = {}\n" : "") + declareLocals(this.#ownNames());
      case "unpack":
        return unpackFields(valueFields(counter));
      case "longest":
        return declareLargest("longest", this.#limitSections("lasts", counter));
      case "zero":
        return setToZero(limit ? limitNumbers(limit) : stateFields(counter).map(([name]) => name));
      default:
        return this.#argument.lazyReadStatements(statementKind);
    }
  }

  #ownNames(): string[] {
    const counted = this.#script === "charge" ? namesInLimits(this.#counters, "counted") : [];
    return [...callNames(this.#counters), ...counted];
  }

  /** The expression that builds a counter's current value. */
  #pack(counter: NamedCounter): string {
    const [[, bytes], ...fields] = valueFields(counter) as [Field, ...Field[]];
    const tails = this.#limitSections("pack-tail", counter).map((text) => text.trim());
    return [...packFields([["now", bytes], ...fields]), ...tails].join(" .. ");
  }
}

/* The sections of the Lua files from which scripts are composed. A missing section is an empty text. */

/** The sections that a limit has in addition to those of its algorithm, because it blocks or notifies. */
function extensionSectionsOf(
  { blocksOnSettle, countsDenials, blocksOnDenial, notifies }: LimitShape,
  section: string,
): readonly string[] {
  const kind = blocksOnSettle
    ? "confirmed"
    : countsDenials
      ? "denials"
      : blocksOnDenial
        ? "denial"
        : undefined;
  const ofBlocking =
    kind && (findSection("blocks", `${kind}-${section}`) || findSection("blocks", section));
  return [ofBlocking ?? "", notifies ? findSection("thresholds", section) : ""];
}

function extensionSection(section: string): string {
  return findSection("blocks", section) || findSection("thresholds", section);
}

function findSection(part: string, section: string): string {
  return parts[part]?.[section] ?? "";
}
