import { formatReceived, HeadgateError } from "../errors.ts";
import type { Algorithm, CompiledLimit } from "./algorithm.ts";

/** Units that a limit can hold: in the scripts, MOST. */
const MOST = 2_000_000_000;

/**
 * The units kept in a window, next to the units used. Twin of blocks.lua.
 *
 * State  kept: units of the window that were settled, and cannot be given back any more.
 */
interface KeptWindow {
  used: number;
  kept: number;
}

/**
 * A limit with `block` that blocks by its kept units, instead of by its denials. That is part of its shape. Throws
 * `HEADGATE_INVALID_OPTION` for another algorithm than `fixedWindow`.
 */
export function withKept(compiled: CompiledLimit): CompiledLimit {
  const { algorithm, shape, canonical, source, name } = compiled;
  if (source.algorithm !== "fixedWindow") throw isNoWindow(source.algorithm, name);
  return {
    ...compiled,
    algorithm: keepUnits(algorithm as Algorithm<KeptWindow, unknown>),
    shape: {
      ...shape,
      id: `${shape.id}kept`,
      state: [...shape.state, ["kept", 4]],
      blocks: false,
      keeps: true,
    },
    canonical: `${canonical}kept`,
  };
}

/** The same algorithm, which also counts kept units. Its state contains that of the window. */
function keepUnits(window: Algorithm<KeptWindow, unknown>): Algorithm<KeptWindow, unknown> {
  return {
    ...window,

    fresh: (quota) => ({ ...window.fresh(quota), kept: 0 }),

    read: (numbers, quota, now) => ({
      ...window.read(numbers, quota, now),
      kept: numbers.at(-1) as number,
    }),

    copy: (state) => ({ ...window.copy(state), kept: state.kept }),

    advance(state, quota, elapsed, now) {
      window.advance(state, quota, elapsed, now);
      if (state.used === 0) state.kept = 0; // a new window
    },

    // It counts in the window in which it is reported: holding answers back until the next window gains nothing.
    keep(state, _, units, charged, age) {
      const isHere = age <= (window.age?.(state) as number);
      if (!isHere) state.used = Math.min(MOST, state.used + Math.min(charged, units));
      state.kept = Math.min(MOST, state.kept + units);
    },

    kept: ({ kept }) => kept,
  };
}

function isNoWindow(algorithm: string, name: string): HeadgateError {
  return new HeadgateError(
    "HEADGATE_INVALID_OPTION",
    `count and blockOn: "settle" can be used with block only where the limit is a fixedWindow; the limit ${formatReceived(name)} is a ${algorithm}. Use a fixedWindow, or block: { after, for }, or leave them out and give back what should not count: limit.of(request).refund()`,
  );
}
