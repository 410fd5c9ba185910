import type { LimitShape } from "../algorithms/algorithm.ts";
import { LruMap } from "../common/lru-map.ts";

/** The bytes of the numbers at the start of every counter's value: see counter.lua. */
export const STAMP_BYTES = 7;
export const GENERATION_BYTES = 4;
export const HEADER_FIELDS: ReadonlyArray<readonly [name: string, bytes: number]> = [
  ["stamp", STAMP_BYTES],
  ["generation", GENERATION_BYTES],
  ["keyExpires", 4],
];

export const HEADER_BYTES: number = sizeOf(HEADER_FIELDS);

/** The numbers at the end of the value of a counter with a block: see counter.lua. */
export const BLOCK_FIELDS: ReadonlyArray<readonly [name: string, bytes: number]> = [
  ["blockEnds", 7],
  ["levelEnds", 7],
  ["level", 1],
  ["setBy", 1],
];
export const BLOCK_BYTES: number = sizeOf(BLOCK_FIELDS);

/** The position of a number in a value: its first byte, from 0, and its length in bytes. */
export type FieldOffset = readonly [at: number, bytes: number];

/**
 * The limits of a counter, in canonical order, and their positions in its value: first the states of all limits, then their
 * tails.
 */
export interface CounterShape {
  readonly limits: readonly LimitShape[];
  /** The offsets of the numbers of each limit, including its tail. */
  readonly offsets: ReadonlyArray<readonly FieldOffset[]>;
  /** The offset of the tail of each limit. */
  readonly tailOffsets: readonly number[];
  /** The length of a value without a block. */
  readonly width: number;
  /** The offsets of the numbers of a block. */
  readonly block: readonly FieldOffset[];
  /** Whether one of its limits blocks on denials. */
  readonly blocksOnDenial: boolean;
  /** Whether one of its limits blocks on confirmed charges. */
  readonly blocksOnSettle: boolean;
  /** Whether one of its limits notifies. */
  readonly notifies: boolean;
}

/** The most cached shapes: more than an application has, unless its requests pass limits with ever different windows. */
const MAX_SHAPES = 1_000;

/** The most recently used shapes. Their number depends on the shapes in an application, not on its limits. */
const shapes = new LruMap<string, CounterShape>(MAX_SHAPES);

/** The shape of these limits: the same object for equal limits, while it is cached. */
export function getShape(limits: readonly LimitShape[]): CounterShape {
  const id = limits
    .map(({ id, parameters, notifies }) => `${id}:${parameters}${notifies ? "~" : ""}`)
    .join(";");
  const cached = shapes.get(id);
  if (cached !== undefined) return cached;
  const shape = computeLayout(limits);
  shapes.set(id, shape);
  return shape;
}

function sizeOf(fields: ReadonlyArray<readonly [name: string, bytes: number]>): number {
  return fields.reduce((size, [, bytes]) => size + bytes, 0);
}

function computeLayout(limits: readonly LimitShape[]): CounterShape {
  let width = HEADER_BYTES;
  const take = (bytes: number): FieldOffset => {
    width += bytes;
    return [width - bytes, bytes];
  };
  const stateOffsets = limits.map(({ state }) => state.map(([, bytes]) => take(bytes)));
  const tails = limits.map(({ tail }) => ({
    at: width,
    offsets: Array.from({ length: tail?.count ?? 0 }, () => take(tail?.bytes ?? 0)),
  }));
  const end = width;
  return {
    limits,
    offsets: stateOffsets.map((offsets, i) => [...offsets, ...(tails[i]?.offsets ?? [])]),
    tailOffsets: tails.map(({ at }) => at),
    width: end,
    block: BLOCK_FIELDS.map(([, bytes]) => take(bytes)),
    blocksOnDenial: limits.some(({ blocksOnDenial }) => blocksOnDenial),
    blocksOnSettle: limits.some(({ blocksOnSettle }) => blocksOnSettle),
    notifies: limits.some(({ notifies }) => notifies),
  };
}
