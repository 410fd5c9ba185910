import type { Algorithm, CompiledLimit } from "./algorithm.ts";

/**
 * The denials that a limit counts until it blocks, next to its units. Twin of blocks.lua.
 *
 * State  denials: how many since the first one that is not forgotten.
 *        forgetsIn: microseconds until all of them are forgotten; 0 if there are none.
 */
interface Denials {
  denials: number;
  forgetsIn: number;
}

const NO_DENIALS: Denials = { denials: 0, forgetsIn: 0 };

/** A limit that blocks after so many denials. That it counts them is part of its shape; how many is not. */
export function withCountedDenials(compiled: CompiledLimit, after: number): CompiledLimit {
  const { algorithm, shape, canonical } = compiled;
  return {
    ...compiled,
    algorithm: countDenials(
      algorithm as Algorithm<object, unknown>,
      shape.reported === undefined ? shape.state.length : undefined,
    ),
    shape: {
      ...shape,
      id: `${shape.id}after`,
      state: [...shape.state, ["denials", 3], ["forgetsIn", 6]],
      countsDenials: true,
    },
    canonical: `${canonical}after ${after}`,
  };
}

/**
 * The same algorithm, which also counts denials. Its state contains that of the limit. `at`: where its numbers are in a state that is
 * read; undefined if the script reports others instead.
 */
function countDenials(
  limit: Algorithm<object, unknown>,
  at: number | undefined,
): Algorithm<Denials, unknown> {
  return {
    ...limit,

    fresh: (quota) => ({ ...limit.fresh(quota), ...NO_DENIALS }),

    read(numbers, quota, now) {
      if (at === undefined) return { ...limit.read(numbers, quota, now), ...NO_DENIALS };
      const own = [...numbers];
      const [denials, forgetsIn] = own.splice(at, 2) as [number, number];
      return { ...limit.read(own, quota, now), denials, forgetsIn };
    },

    copy: (state) => ({
      ...limit.copy(state),
      denials: state.denials,
      forgetsIn: state.forgetsIn,
    }),

    advance(state, quota, elapsed, now) {
      limit.advance(state, quota, elapsed, now);
      state.forgetsIn = Math.max(0, state.forgetsIn - elapsed);
      if (state.forgetsIn === 0) state.denials = 0;
    },

    lasts: (state, reset) => Math.max(limit.lasts?.(state, reset) ?? reset, state.forgetsIn),

    deny(state, { after = 1, quiet }) {
      if (state.denials === 0) state.forgetsIn = quiet;
      state.denials = Math.min(after, state.denials + 1);
      return state.denials === after;
    },
  };
}
