import type { CounterShape, FieldOffset } from "./counter-shape.ts";
import { BLOCK_BYTES, GENERATION_BYTES, STAMP_BYTES } from "./counter-shape.ts";

/*
 * Numbers as passed to the scripts: digits of 7 bits, the highest first, each a character below 128. One argument of them costs
 * the server far less than an argument for each number. The values that scripts return have numbers in bytes of 8 bits.
 */

/** Digits of a limit's parameter, which is below 2^35, and of the generation of a counter. */
export const PARAMETER_DIGITS = 5;

/** Digits of a cost, or of a time. */
export const LONG_DIGITS = 8;

/** Digits of a duration in milliseconds, which is at most 366 days: below 2^35. */
export const DURATION_DIGITS = 5;

/** Digits of the number of calls in a run. */
export const COUNT_DIGITS = 2;

/** Encodes a whole number below 128^count. */
export function encodeDigits(number: number, count: number): string {
  let text = "";
  let rest = number;
  for (let i = 0; i < count; i += 1) {
    const digit = rest % 128;
    text = String.fromCharCode(digit) + text;
    rest = (rest - digit) / 128;
  }
  return text;
}

/** A random number, in digits, that identifies a new generation of a counter. */
export function newGeneration(): string {
  const number = Math.floor(Math.random() * 2 ** 32);
  return String.fromCharCode(
    number >>> 28,
    (number >>> 21) & 127,
    (number >>> 14) & 127,
    (number >>> 7) & 127,
    number & 127,
  );
}

/** Characters of the holder of a slot; HOLDER_BYTES in the scripts. */
export const HOLDER_DIGITS = 8;

/** Creates a random id for the holder of a slot. */
export function newHolder(): string {
  return encodeDigits(Math.floor(Math.random() * 2 ** 53), HOLDER_DIGITS);
}

/** The positions of the clock, in microseconds, and the generation in every value. */
export const STAMP_AND_GENERATION: readonly FieldOffset[] = [
  [0, STAMP_BYTES],
  [STAMP_BYTES, GENERATION_BYTES],
];

/** Whether a script can return this value for a counter of this shape. */
export function isCounterValue(value: unknown, { width }: CounterShape): value is Buffer {
  return Buffer.isBuffer(value) && (value.length === width || value.length === width + BLOCK_BYTES);
}

/** The numbers at some positions of a value. */
export function readNumbers(value: Buffer, offsets: readonly FieldOffset[]): number[] {
  const numbers = new Array<number>(offsets.length);
  for (let i = 0; i < offsets.length; i += 1) {
    const offset = offsets[i] as FieldOffset;
    const end = offset[0] + offset[1];
    let number = 0;
    for (let at = offset[0]; at < end; at += 1) number = number * 256 + (value[at] as number);
    numbers[i] = number;
  }
  return numbers;
}
