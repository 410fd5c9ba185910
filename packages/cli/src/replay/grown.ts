/** Numbers with room for so many: the same where there is, else a copy of twice the size. */
export function grown(numbers: Uint32Array, length: number): Uint32Array {
  if (length <= numbers.length) return numbers;
  const larger = new Uint32Array(Math.max(length, numbers.length * 2));
  larger.set(numbers);
  return larger;
}
