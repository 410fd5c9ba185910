import * as fc from "fast-check";
import { test as plainTest } from "vitest";

/** Fails by throwing, rejecting or `false`. */
type Predicate<Values extends readonly unknown[]> = (...values: Values) => unknown;

/**
 * `test.prop([arbitraries], parameters)(name, predicate)`: what `@fast-check/vitest` offers, which prepares every chain of
 * Vitest's modifiers when it is imported and takes two seconds for it, in each test file. `vitest.config.ts` puts this in its place.
 */
function prop<Values extends [unknown, ...unknown[]]>(
  arbitraries: { readonly [Index in keyof Values]: fc.Arbitrary<Values[Index]> },
  parameters?: fc.Parameters<Values>,
): (name: string, predicate: Predicate<Values>, timeout?: number) => void {
  return (name, predicate, timeout) => {
    const checked = property<Values>(...arbitraries, async (...values: Values) =>
      predicate(...values),
    );
    plainTest(name, () => fc.assert(checked, parameters), timeout);
  };
}

/** fast-check's own types name each number of arbitraries apart. */
const property = fc.asyncProperty as unknown as <Values>(
  ...parts: readonly unknown[]
) => fc.IAsyncProperty<Values>;

export const test: typeof plainTest & { readonly prop: typeof prop } = Object.assign(plainTest, {
  prop,
});

export { fc };
