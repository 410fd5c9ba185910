import type { LuaSource } from "../algorithms/algorithm.ts";
import type { ScriptName } from "./compose-script.ts";
import { composeScript } from "./compose-script.ts";
import type { CounterShape } from "./counter-shape.ts";

/** The scripts for calls on counters of some shapes, each put together when it is first asked for. */
export class ShapeScripts {
  readonly #shapes: readonly CounterShape[];
  readonly #scripts = new Map<ScriptName, LuaSource>();
  /** Those for one more counter, by its shape. */
  readonly #longer = new Map<CounterShape, ShapeScripts>();

  constructor(shapes: readonly CounterShape[]) {
    this.#shapes = shapes;
  }

  get(name: ScriptName): LuaSource {
    const known = this.#scripts.get(name);
    if (known !== undefined) return known;
    const script = composeScript(name, this.#shapes);
    this.#scripts.set(name, script);
    return script;
  }

  /** The scripts for one more counter. */
  with(shape: CounterShape): ShapeScripts {
    const known = this.#longer.get(shape);
    if (known !== undefined) return known;
    const longer = new ShapeScripts([...this.#shapes, shape]);
    this.#longer.set(shape, longer);
    return longer;
  }
}

const ofNone = new ShapeScripts([]);

/** The scripts for calls on such counters; the same object for counters of the same shapes. */
export function scriptsFor(
  counters: ReadonlyArray<{ readonly shape: CounterShape }>,
): ShapeScripts {
  let scripts = ofNone;
  for (const { shape } of counters) scripts = scripts.with(shape);
  return scripts;
}
