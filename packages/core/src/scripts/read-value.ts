import type { CompiledLimit } from "../algorithms/algorithm.ts";
import type { CounterShape, Place } from "./counter-shape.ts";
import { BLOCK, BLOCK_BYTES, GENERATION_BYTES, STAMP_BYTES } from "./counter-shape.ts";

/** Whether a value is one that a script returns of a counter of this shape. */
export function isValue(value: unknown, { width }: CounterShape): value is Buffer {
  if (!Buffer.isBuffer(value)) return false;
  return value.length === width || value.length === width + BLOCK_BYTES;
}

/** The numbers of the block of a counter, in the order of `BLOCK`; undefined where it has none. */
export function blockNumbersIn(value: Buffer, { width }: CounterShape): number[] | undefined {
  if (value.length === width) return undefined;
  let at = width;
  return BLOCK.map(([, bytes]) => {
    at += bytes;
    return readNumber(value, at - bytes, bytes);
  });
}

/** The clock at which the value was true, in microseconds. */
export function stampIn(value: Buffer): number {
  return readNumber(value, 0, STAMP_BYTES);
}

export function generationIn(value: Buffer): number {
  return readNumber(value, STAMP_BYTES, GENERATION_BYTES);
}

/** The state of the limit in this place of the counter. */
export function stateIn(
  value: Buffer,
  { places }: CounterShape,
  i: number,
  { algorithm, quota }: CompiledLimit,
): unknown {
  const numbers: number[] = [];
  for (const [at, bytes] of places[i] as readonly Place[])
    numbers.push(readNumber(value, at, bytes));
  return algorithm.read(numbers, quota, stampIn(value));
}

function readNumber(value: Buffer, at: number, bytes: number): number {
  let number = 0;
  for (let i = at; i < at + bytes; i += 1) number = number * 256 + (value[i] as number);
  return number;
}
