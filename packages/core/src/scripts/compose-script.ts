import { createHash } from "node:crypto";
import type { LimitShape, LuaSource } from "../algorithms/algorithm.ts";
import type { CounterShape } from "./counter-shape.ts";
import { HEADER } from "./counter-shape.ts";
import { COUNT_DIGITS, HOLDER_DIGITS, LONG_DIGITS, NUMBER_DIGITS } from "./digits.ts";
import { parts } from "./lua.generated.ts";
import { RULE_DIGITS, ruleDigitsOf } from "./rule-digits.ts";
import type { NamedCounter, NamedLimit, Names } from "./script-names.ts";
import { areFields, counterNames, nameCounters, ownNames } from "./script-names.ts";

/** The scripts that are put together, by the files beside this one in which they begin. */
export type ScriptName =
  | "decide-lone"
  | "decide-batch"
  | "look"
  | "charge"
  | "refund"
  | "judge"
  | "block"
  | "places";

type Field = readonly [name: string, digits: number];

/**
 * What the argument of a call brings behind the numbers of its limits; `rules` for each limit that may block in that script,
 * `charged` for each counter, and `cost` and `given` for each limit where the cost is by name.
 */
const FIELDS: Readonly<Record<ScriptName, readonly Field[]>> = {
  "decide-lone": [
    ["rules", RULE_DIGITS],
    ["generation", NUMBER_DIGITS],
    ["cost", LONG_DIGITS],
  ],
  "decide-batch": [
    ["requests", COUNT_DIGITS],
    ["cost", LONG_DIGITS],
    ["rules", RULE_DIGITS],
    ["generation", NUMBER_DIGITS],
  ],
  look: [
    ["requests", COUNT_DIGITS],
    ["cost", LONG_DIGITS],
  ],
  charge: [
    ["requests", COUNT_DIGITS],
    ["cost", LONG_DIGITS],
    ["generation", NUMBER_DIGITS],
  ],
  refund: [
    ["requests", COUNT_DIGITS],
    ["given", LONG_DIGITS],
    ["moment", LONG_DIGITS],
    ["charged", NUMBER_DIGITS],
  ],
  judge: [
    ["requests", COUNT_DIGITS],
    ["cost", LONG_DIGITS],
    ["given", LONG_DIGITS],
    ["moment", LONG_DIGITS],
    ["charged", NUMBER_DIGITS],
    ["rules", RULE_DIGITS],
    ["generation", NUMBER_DIGITS],
  ],
  block: [
    ["requests", COUNT_DIGITS],
    ["span", LONG_DIGITS],
    ["generation", NUMBER_DIGITS],
  ],
  places: [
    ["requests", COUNT_DIGITS],
    ["renews", 1],
  ],
};

/** The part that finds the answer to a call; if the cost is by name, one that ends in "-by-name" takes precedence. */
const ANSWERS: Readonly<Record<ScriptName, string>> = {
  "decide-lone": "decide",
  "decide-batch": "decide",
  look: "look-counters",
  charge: "charge-counters",
  refund: "refund-counters",
  judge: "judge-counters",
  places: "tend-places",
  block: "block-by-hand",
};

/** Few calls need these, and the rules: they are read where they are used. */
const READ_LATER: Readonly<Partial<Record<ScriptName, readonly string[]>>> = {
  "decide-lone": ["generation", "cost"],
  "decide-batch": ["generation"],
  charge: ["generation"],
  judge: ["generation"],
  block: ["generation"],
};

const NO_NAMES: Names = new Map();

/** How many numbers one call reads or writes, with up to 8 places each: Lua has room for 250. */
const MOST_AT_ONCE = 12;

/**
 * Puts a script together for the counters of a call. What a part needs for each counter, or limit, is inserted with
 * its own names if there are several. docs/understand/scripts.md follows a script from its parts. `isByName`: for a cost by name, which
 * is a separate number for each limit; then a lone decision is a batch of one.
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
  readonly #isLone: boolean;
  readonly #isByName: boolean;
  /** Whether names are fields of tables. */
  readonly #inTables: boolean;
  /** Whether keys are written at the end; a log, which is read in parts, cannot wait for that. */
  readonly #isWrittenLate: boolean;
  readonly #counters: readonly NamedCounter[];
  /** What the argument brings, in order. */
  readonly #fields: readonly Field[];
  #keyCount = 0;

  constructor(script: ScriptName, shapes: readonly CounterShape[], isByName: boolean) {
    const limits = shapes.flatMap((shape) => shape.limits);
    this.#script = script;
    this.#isLone = script === "decide-lone";
    this.#isByName = isByName;
    this.#inTables = areFields(shapes, isByName);
    this.#isWrittenLate = script === "decide-batch" && !limits.some(({ hasLog }) => hasLog);
    const named = script === "judge" ? shapes.map(blockedAtOnce) : shapes;
    this.#counters = nameCounters(named, isByName, () => this.#nextKey());
    this.#fields = this.#layOutArgument();
  }

  compose(): string {
    const values = this.#counters.flatMap(reportedBy);
    const digits = this.#isLone ? "ARGV[1]" : "ARGV[run]";
    const names = new Map([
      ["CLOCK", this.#isLone ? "ARGV[2]" : 'ARGV[1] ~= "" and ARGV[1]'],
      ["DIGITS", digits],
      // The holder of places comes last.
      ["HOLDER", `string.sub(${digits}, -${HOLDER_DIGITS})`],
      ["COST_AT", String(this.#placeOf("cost"))],
      ["HOLDERS_AT", String(sizeOf(this.#fields) + 1)],
      ["KEY_COUNT", String(this.#keyCount)],
      ["CHARGED", values.length === 1 ? String(values) : `{ ${values.join(", ")} }`],
      ["REPORTED", values.join(", ")],
      ["COUNTED", this.#ofLimits("counted").join(", ")],
    ]);
    return rename(this.#expand(this.#script), names).replace(/^\s+/gm, "").trim();
  }

  #nextKey(): string {
    this.#keyCount += 1;
    return this.#isLone ? `KEYS[${this.#keyCount}]` : `KEYS[keyAt + ${this.#keyCount}]`;
  }

  #layOutArgument(): Field[] {
    const numbers = this.#counters.flatMap(({ limits }) =>
      limits.flatMap(({ shape, names }) =>
        shape.numbers.map((number): Field => [nameOf(names, number), NUMBER_DIGITS]),
      ),
    );
    const times = this.#counters.flatMap(({ limits }) =>
      limits.flatMap(({ shape, names }) =>
        (shape.times ?? []).map((time): Field => [nameOf(names, time), LONG_DIGITS]),
      ),
    );
    const others = FIELDS[this.#script].flatMap(([name, digits]): Field[] => {
      if (name === "rules") return this.#rules();
      const own = name === "charged" ? this.#ofCounters(name) : this.#ofLimits(name);
      return own.length === 0 ? [[name, digits]] : own.map((each) => [each, digits]);
    });
    return [...numbers, ...times, ...others];
  }

  #ofCounters(name: string): string[] {
    return this.#counters.map(({ names }) => nameOf(names, name));
  }

  /** Its name in each limit; nothing if it is the same for all. */
  #ofLimits(name: string): string[] {
    return this.#counters.flatMap(({ limits }) =>
      limits.flatMap(({ names }) => names.get(name) ?? []),
    );
  }

  /** What brings the rules of those limits that may block in this script. */
  #rules(): Field[] {
    const limits = this.#counters.flatMap((counter) => counter.limits);
    const blocking = limits.filter(({ shape }) => this.#mayBlock(shape));
    return blocking.map(({ shape, names }) => [nameOf(names, "rules"), ruleDigitsOf(shape)]);
  }

  /** Whether a limit may block in this script. */
  #mayBlock({ blocks = false, keeps = false }: LimitShape): boolean {
    return this.#script === "judge" ? keeps : blocks;
  }

  /** How many digits are before a field. */
  #placeOf(field: string): number {
    const index = this.#fields.findIndex(([name]) => name === field);
    return sizeOf(this.#fields.slice(0, index));
  }

  /** A part with everything that it includes; for a counter, if one is given. */
  #expand(part: string, counter?: NamedCounter): string {
    return this.#fillIn(sectionOf(part), counter);
  }

  #fillIn(text: string, counter?: NamedCounter): string {
    const filled = text
      .replace(/^ *--- @(\w+) ?"?([\w-]*)"?\n/gm, (_, directive, operand) =>
        this.#follow(directive, operand, counter),
      )
      .replace(/\bALL\("(\w+)"\)/g, (_, section) => this.#conditions(section, counter, " and "))
      .replace(
        /\bANY\("(\w+)"\)/g,
        (_, section) => this.#conditions(section, counter, " or ") || "false",
      )
      .replace(/\bPACKED\b/g, () => packValue(counter as NamedCounter));
    return counter === undefined ? filled : rename(filled, counter.names);
  }

  /** The text that replaces a directive, which is a line by itself. */
  #follow(directive: string, operand: string, counter: NamedCounter | undefined): string {
    switch (directive) {
      case "include":
        return this.#expand(operand, counter);
      case "answer":
        return this.#expand(this.#answer());
      case "counters":
        return this.#counters.map((each) => enclose(this.#expand(operand, each))).join("");
      case "limits":
        return this.#sections(operand, counter).map(enclose).join("");
      case "read":
        return this.#expand(this.#isWrittenLate ? "get-once" : "get", counter);
      case "write":
        return this.#expand(this.#isWrittenLate ? "put-later" : "put", counter);
      case "numbers":
        return this.#readArgument();
      case "digits":
        return this.#readDigits(this.#fields.filter(([name]) => name === operand));
      case "declare":
        return this.#declareCounters();
      case "unpack":
        return unpackValue(counter as NamedCounter);
      case "zero":
        return zero(stateFields(counter as NamedCounter).map(([name]) => name));
      case "blocking":
        return this.#counters
          .filter(({ shape }) => shape.blocks)
          .map((each) => enclose(this.#expand(operand, each)))
          .join("");
      case "restart":
        return this.#restartLimits(counter as NamedCounter);
      default:
        throw new Error(`no directive @${directive}`);
    }
  }

  #answer(): string {
    const part = ANSWERS[this.#script];
    return this.#isByName && sectionOf(`${part}-by-name`) !== "" ? `${part}-by-name` : part;
  }

  #conditions(section: string, counter: NamedCounter | undefined, joint: string): string {
    return this.#sections(section, counter)
      .map((text) => text.trim())
      .join(joint);
  }

  /** A section of each limit that has it; of a counter's limits, if one is given. */
  #sections(section: string, counter: NamedCounter | undefined): string[] {
    const counters = counter === undefined ? this.#counters : [counter];
    return counters.flatMap((each) =>
      each.limits.flatMap((limit, i) =>
        partsOf(limit).flatMap((part) => {
          const text = this.#sectionOf(part, section);
          if (text === "" || (section === "exceeded" && !this.#mayBlock(limit.shape))) return [];
          const own = rename(this.#fillIn(text), this.#blockNames(limit, i));
          return [rename(rename(own, limit.names), each.names)];
        }),
      ),
    );
  }

  /** What stands for names in the sections of a limit that blocks, in this place of its counter. */
  #blockNames({ shape, names }: NamedLimit, place: number): Names {
    if (!shape.blocks && !shape.keeps) return NO_NAMES;
    const [, beside = ""] = partsOf({ shape, names });
    const ruleAt = this.#placeOf(nameOf(names, "rules"));
    const ofExceeds: Names = new Map([
      ["ALLOWS", this.#sectionOf(shape.part, "allows").trim()],
      ["GRANTED", shape.numbers[0] as string],
    ]);
    return new Map([
      ...ofExceeds,
      ["EXCEEDS", rename(sectionOf(beside, "exceeds").trim(), ofExceeds)],
      ["AGE", sectionOf(shape.part, "age").trim()],
      ["RULE_AT", String(ruleAt)],
      ["AFTER_AT", String(ruleAt + RULE_DIGITS)],
      ["PLACE", String(place + 1)],
    ]);
  }

  /** Statements that reset the limit that set the block. */
  #restartLimits({ limits, names }: NamedCounter): string {
    const restarts = limits.map(({ shape, names: own }, i) => {
      if (!shape.blocks && !shape.keeps) return "";
      const numbers = [...shape.state.map(([name]) => name), ...(shape.reported ?? [])];
      const fresh = rename(rename(this.#fillIn(sectionOf(shape.part, "fresh")), own), names);
      const statements = zero(numbers.map((name) => nameOf(own, name))) + enclose(fresh);
      return `if setBy == ${i + 1} then\n${statements}end\n`;
    });
    return restarts.join("");
  }

  /** A section of a limit; by name, a limit that is left out allows all, and is charged and given back nothing. */
  #sectionOf(part: string, section: string): string {
    const text = sectionOf(part, section);
    if (!this.#isByName || text === "") return text;
    switch (section) {
      case "allows":
        return `(cost == 0 or ${text.trim()})`;
      case "charge":
        return `if cost > 0 then\n${text}else\n${sectionOf(part, "report")}end\n`;
      case "overcharge":
        return `counted = cost\nif cost > 0 then\n${text}end\n`;
      case "refund":
        return `if given > 0 then\n${text}end\n`;
      default:
        return text;
    }
  }

  /** Reads what the argument brings, except what few calls need. */
  #readArgument(): string {
    const rules = this.#rules().map(([name]) => name);
    const later = [...(READ_LATER[this.#script] ?? []), ...rules];
    const fields = this.#fields.filter(([name]) => !later.includes(name));
    const read = chunksOf(fields).map((some) => this.#readDigits(some));
    const tables = this.#inTables ? "local numbers = {}\n" : "";
    return tables + declare(fields.map(([name]) => name)) + read.join("");
  }

  /** Reads fields that follow each other. */
  #readDigits(fields: readonly Field[]): string {
    const from = this.#placeOf(fields[0]?.[0] as string) + 1;
    let count = 0;
    const assignments = fields.map(([name, digits]) => {
      const letters = Array.from({ length: digits }, (_, i) => `d${count + i + 1}`);
      count += digits;
      return `${name} = ${letters.reduce((high, low) => `(${high}) * 128 + ${low}`)}\n`;
    });
    const letters = Array.from({ length: count }, (_, i) => `d${i + 1}`).join(", ");
    const bytes = `string.byte(DIGITS, ${from}, ${from + count - 1})`;
    return enclose(`local ${letters} = ${bytes}\n${assignments.join("")}`);
  }

  #declareCounters(): string {
    const names = this.#counters.flatMap((counter) => [
      ...counterNames(counter.shape).map((name) => nameOf(counter.names, name)),
      ...counter.limits.flatMap(({ shape, names }) =>
        ownNames(shape).map((name) => nameOf(names, name)),
      ),
    ]);
    if (this.#script === "charge") names.push(...this.#ofLimits("counted"));
    const keys = this.#counters.map(
      ({ names }) => `${nameOf(names, "key")} = ${nameOf(names, "KEY")}\n`,
    );
    const tables = this.#inTables ? "local own = {}\n" : "";
    return tables + declare(names) + keys.join("");
  }
}

/** A counter that need not remember until the end of a call that a block was set. */
function blockedAtOnce(shape: CounterShape): CounterShape {
  return { ...shape, blocks: false };
}

/** Local names; those that are fields of a table need no declaration. */
function declare(names: readonly string[]): string {
  const locals = names.filter((name) => !name.includes("."));
  return locals.length === 0 ? "" : `local ${locals.join(", ")}\n`;
}

/** Statements that take the bytes of a counter apart. */
function unpackValue(counter: NamedCounter): string {
  let at = 1;
  const statements = chunksOf(valueFields(counter)).map((fields) => {
    const names = fields.map(([name]) => name).join(", ");
    const from = at === 1 ? "" : `, ${at}`;
    at += sizeOf(fields);
    return `${names} = struct.unpack(${formatOf(fields)}, bytes${from})\n`;
  });
  return statements.join("");
}

/** The expression that puts a counter together, as of now. */
function packValue(counter: NamedCounter): string {
  const stamp = nameOf(counter.names, "stamp");
  const numbers = chunksOf(valueFields(counter)).map((fields) => {
    const names = fields.map(([name]) => (name === stamp ? "now" : name)).join(", ");
    return `struct.pack(${formatOf(fields)}, ${names})`;
  });
  const tails = counter.limits.flatMap(({ shape, names }) => {
    const pack = sectionOf(shape.part, "pack");
    return pack === "" ? [] : [rename(pack.trim(), names)];
  });
  return [...numbers, ...tails].join(" .. ");
}

/** Statements that make numbers 0. */
function zero(names: readonly string[]): string {
  const statements = chunksOf(names).map(
    (some) => `${some.join(", ")} = ${some.map(() => "0").join(", ")}\n`,
  );
  return statements.join("");
}

/** The numbers of a counter's value, and how many bytes each takes. */
function valueFields(counter: NamedCounter): Field[] {
  const header = HEADER.map(([name, bytes]): Field => [nameOf(counter.names, name), bytes]);
  return [...header, ...stateFields(counter)];
}

function stateFields({ limits }: NamedCounter): Field[] {
  return limits.flatMap(({ shape, names }) =>
    shape.state.map(([name, bytes]): Field => [nameOf(names, name), bytes]),
  );
}

function formatOf(fields: readonly Field[]): string {
  return `">${fields.map(([, bytes]) => `I${bytes}`).join("")}"`;
}

/** What is reported about a counter: its value, and what only the script knows about its limits. */
function reportedBy({ names, limits }: NamedCounter): string[] {
  const more = limits.flatMap(({ shape, names }) =>
    (shape.reported ?? []).map((name) => nameOf(names, name)),
  );
  return [nameOf(names, "value"), ...more];
}

/** Statements that declare names keep them to themselves. */
function enclose(statements: string): string {
  return /^local /m.test(statements) ? `do\n${statements}end\n` : statements;
}

/** How many digits, or bytes, fields take together. */
function sizeOf(fields: readonly Field[]): number {
  return fields.reduce((sum, [, size]) => sum + size, 0);
}

function chunksOf<Item>(items: readonly Item[]): Item[][] {
  const chunks: Item[][] = [];
  for (const item of items) {
    const last = chunks.at(-1);
    if (last === undefined || last.length === MOST_AT_ONCE) chunks.push([item]);
    else last.push(item);
  }
  return chunks;
}

/** The files that have the sections of a limit. */
function partsOf({ shape }: NamedLimit): string[] {
  if (shape.keeps) return [shape.part, "kept"];
  if (shape.countsDenials) return [shape.part, "counted-denials"];
  return shape.blocks ? [shape.part, "blocks"] : [shape.part];
}

function rename(text: string, names: Names): string {
  return text.replace(/(?<![.\w"])[A-Za-z]\w*(?![\w"])/g, (name) => names.get(name) ?? name);
}

function nameOf(names: Names, name: string): string {
  return names.get(name) as string;
}

function sectionOf(part: string, section = ""): string {
  return parts[part]?.[section] ?? "";
}
