import type { CounterShape, Place } from "./counter-shape.ts";
import { BLOCK_BYTES, GENERATION_BYTES, STAMP_BYTES } from "./counter-shape.ts";

/** Where every value has its clock, in microseconds, and its generation. */
export const STAMP_AND_GENERATION: readonly Place[] = [
  [0, STAMP_BYTES],
  [STAMP_BYTES, GENERATION_BYTES],
];

/** Whether a value is one that a script returns of a counter of this shape. */
export function isValue(value: unknown, { width }: CounterShape): value is Buffer {
  return Buffer.isBuffer(value) && (value.length === width || value.length === width + BLOCK_BYTES);
}

/** The numbers in some places of a value. */
export function numbersIn(value: Buffer, places: readonly Place[]): number[] {
  const numbers = new Array<number>(places.length);
  for (let i = 0; i < places.length; i += 1) {
    const place = places[i] as Place;
    const end = place[0] + place[1];
    let number = 0;
    for (let at = place[0]; at < end; at += 1) number = number * 256 + (value[at] as number);
    numbers[i] = number;
  }
  return numbers;
}
