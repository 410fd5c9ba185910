/** A number that a script reads or writes: its name in the script, and its digits or bytes. */
export type Field = readonly [name: string, size: number];

/** The most numbers that one call reads or writes: each takes up to 8 registers, and Lua has room for 250. */
const MAX_FIELDS_PER_CALL = 12;

/** Declares local names. Fields of tables need no declaration. */
export function declareLocals(names: readonly string[]): string {
  const locals = names.filter((name) => !name.includes("."));
  return locals.length === 0 ? "" : `local ${locals.join(", ")}\n`;
}

/** Sets numbers to 0. */
export function setToZero(names: readonly string[]): string {
  const statements = chunksOf(names).map(
    (some) => `${some.join(", ")} = ${some.map(() => "0").join(", ")}\n`,
  );
  return statements.join("");
}

/** Reads consecutive fields from the digits of an argument, starting at this byte. */
export function readDigits(fields: readonly Field[], from: number): string {
  let at = from;
  const statements = chunksOf(fields).map((some) => {
    let count = 0;
    const assignments = some.map(([name, digits]) => {
      const letters = Array.from({ length: digits }, (_, i) => `d${count + i + 1}`);
      count += digits;
      return `${name} = ${letters.reduce((high, low) => `(${high}) * 128 + ${low}`)}\n`;
    });
    const letters = Array.from({ length: count }, (_, i) => `d${i + 1}`).join(", ");
    at += count;
    const bytes = `string.byte(digits, ${at - count}, ${at - 1})`;
    return `do\nlocal ${letters} = ${bytes}\n${assignments.join("")}end\n`;
  });
  return statements.join("");
}

/** Reads fields from the start of `bytes`. */
export function unpackFields(fields: readonly Field[]): string {
  let at = 1;
  const statements = chunksOf(fields).map((some) => {
    const from = at === 1 ? "" : `, ${at}`;
    at += sizeOf(some);
    return `${namesOf(some)} = unpackNumbers(${packFormatOf(some)}, bytes${from})\n`;
  });
  return statements.join("");
}

/** The expressions that pack the fields; their strings are to be concatenated. */
export function packFields(fields: readonly Field[]): string[] {
  return chunksOf(fields).map((some) => `packNumbers(${packFormatOf(some)}, ${namesOf(some)})`);
}

/** A single expression, or a table of several. */
export function formatTable(expressions: readonly string[]): string {
  return expressions.length === 1 ? String(expressions) : `{ ${expressions.join(", ")} }`;
}

/** Declares a local name for the largest of some expressions. */
export function declareLargest(name: string, [first, ...others]: readonly string[]): string {
  const comparisons = others.map((other) =>
    enclose(`local other = ${other.trim()}\nif ${name} < other then\n${name} = other\nend\n`),
  );
  return `local ${name} = ${first?.trim()}\n${comparisons.join("")}`;
}

/** Puts statements that declare names into a block of their own. */
export function enclose(statements: string): string {
  return /^local /m.test(statements) ? `do\n${statements}end\n` : statements;
}

/** How many digits, or bytes, fields take together. */
export function sizeOf(fields: readonly Field[]): number {
  return fields.reduce((sum, [, size]) => sum + size, 0);
}

function namesOf(fields: readonly Field[]): string {
  return fields.map(([name]) => name).join(", ");
}

function packFormatOf(fields: readonly Field[]): string {
  // Without a number, I is a C int: 4 bytes wherever Redis runs, and one digit less for the server to parse.
  return `">${fields.map(([, bytes]) => (bytes === 4 ? "I" : `I${bytes}`)).join("")}"`;
}

function chunksOf<Item>(items: readonly Item[]): Item[][] {
  const count = Math.ceil(items.length / MAX_FIELDS_PER_CALL);
  return Array.from({ length: count }, (_, i) =>
    items.slice(i * MAX_FIELDS_PER_CALL, (i + 1) * MAX_FIELDS_PER_CALL),
  );
}
