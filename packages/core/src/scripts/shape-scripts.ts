import type { LuaSource } from "../algorithms/algorithm.ts";
import type { CounterShape } from "./counter-shape.ts";
import type { ScriptName } from "./script-argument.ts";

/** Composes a script for counters of these shapes; implemented by `composeScript`. */
export type Compose = (
  name: ScriptName,
  shapes: readonly CounterShape[],
  isByName: boolean,
) => LuaSource;

/** The scripts for calls on counters of these shapes, each composed on first use. */
export class ShapeScripts {
  readonly #shapes: readonly CounterShape[];
  readonly #isByName: boolean;
  readonly #composed: Map<ScriptName, LuaSource> = new Map();
  /** The scripts for one more counter, by the shape of that counter. Collected with the shape. */
  readonly extensions: WeakMap<CounterShape, ShapeScripts> = new WeakMap();

  constructor(shapes: readonly CounterShape[], isByName: boolean) {
    this.#shapes = shapes;
    this.#isByName = isByName;
  }

  get(name: ScriptName, compose: Compose): LuaSource {
    const known = this.#composed.get(name);
    if (known !== undefined) return known;
    const script = compose(name, this.#shapes, this.#isByName);
    this.#composed.set(name, script);
    return script;
  }

  extend(shape: CounterShape): ShapeScripts {
    const extended = new ShapeScripts([...this.#shapes, shape], this.#isByName);
    this.extensions.set(shape, extended);
    return extended;
  }
}

const emptyScripts = new ShapeScripts([], false);
const emptyScriptsByName = new ShapeScripts([], true);

interface ScriptCounter {
  readonly shape: CounterShape;
  /** Present if the cost is by name. */
  readonly costs?: readonly number[] | undefined;
}

/** The scripts for calls on such counters: the same object for counters of the same shapes. */
export function scriptsFor(counters: readonly ScriptCounter[]): ShapeScripts {
  let scripts = counters[0]?.costs === undefined ? emptyScripts : emptyScriptsByName;
  for (const { shape } of counters)
    scripts = scripts.extensions.get(shape) ?? scripts.extend(shape);
  return scripts;
}
