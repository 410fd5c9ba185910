import type { LimitShape } from "../algorithms/algorithm.ts";
import { LruMap } from "../base/lru-map.ts";

/** Bytes of the numbers that the value of every counter begins with: see counter.lua. */
export const STAMP_BYTES = 7;
export const GENERATION_BYTES = 4;
export const HEADER: ReadonlyArray<readonly [name: string, bytes: number]> = [
  ["stamp", STAMP_BYTES],
  ["generation", GENERATION_BYTES],
  ["lives", 4],
];

export const HEADER_BYTES: number = sizeOf(HEADER);

/** Behind the value of a counter that has a block: see counter.lua. */
export const BLOCK: ReadonlyArray<readonly [name: string, bytes: number]> = [
  ["blockEnds", 7],
  ["levelEnds", 7],
  ["level", 1],
  ["setBy", 1],
];
export const BLOCK_BYTES: number = sizeOf(BLOCK);

/** Where a value has a number: its first byte, from 0, and how many there are. */
export type Place = readonly [at: number, bytes: number];

/** The limits of a counter, in canonical order, and where its value has them: the numbers of all, then their tails. */
export interface CounterShape {
  readonly limits: readonly LimitShape[];
  /** Where the numbers of each limit are, with those of its tail. */
  readonly places: ReadonlyArray<readonly Place[]>;
  /** Where the tail of each limit begins. */
  readonly tailAt: readonly number[];
  /** The length of a value without a block. */
  readonly width: number;
  /** Where the numbers of a block are, in a value that has one. */
  readonly block: readonly Place[];
  /** Whether the denials of one of its limits block. */
  readonly blocks: boolean;
  /** Whether what is kept of one of its limits blocks. */
  readonly keeps: boolean;
}

/** The most shapes remembered: more than an application has, unless its requests bring limits of ever other windows. */
const MOST_SHAPES = 1_000;

/** Those that were asked for last. Their number is that of the shapes an application has, not of its limits. */
const shapes = new LruMap<string, CounterShape>(MOST_SHAPES);

/** The shape of such limits; the same object for equal ones, as long as it is remembered. */
export function shapeOf(limits: readonly LimitShape[]): CounterShape {
  const id = limits.map(({ id, numbers }) => `${id}:${numbers}`).join(";");
  const known = shapes.get(id);
  if (known !== undefined) return known;
  const shape = layOut(limits);
  shapes.set(id, shape);
  return shape;
}

function sizeOf(fields: ReadonlyArray<readonly [name: string, bytes: number]>): number {
  return fields.reduce((size, [, bytes]) => size + bytes, 0);
}

function layOut(limits: readonly LimitShape[]): CounterShape {
  let width = HEADER_BYTES;
  const take = (bytes: number): Place => {
    width += bytes;
    return [width - bytes, bytes];
  };
  const numbers = limits.map(({ state }) => state.map(([, bytes]) => take(bytes)));
  const tails = limits.map(({ tail }) => ({
    at: width,
    places: Array.from({ length: tail?.count ?? 0 }, () => take(tail?.bytes ?? 0)),
  }));
  const end = width;
  return {
    limits,
    places: numbers.map((places, i) => [...places, ...(tails[i]?.places ?? [])]),
    tailAt: tails.map(({ at }) => at),
    width: end,
    block: BLOCK.map(([, bytes]) => take(bytes)),
    blocks: limits.some(({ blocks }) => blocks),
    keeps: limits.some(({ keeps }) => keeps),
  };
}
