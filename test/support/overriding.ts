import type { Store } from "@headgate/core";
import type { ControlView } from "../../packages/core/src/control/control.ts";
import type { Override } from "../../packages/core/src/control/record.ts";

/** An override without what is the same in all: for whom, of what, and until when in microseconds. */
type Terms = Pick<Override, "subject" | "limits" | "shadow"> & {
  readonly limiter?: string;
  readonly until?: number;
};

/** A store whose operator is the test. */
export interface OverriddenStore<S extends Store> {
  readonly store: S;
  /** Puts overrides in force, in place of those before, for the limiter `api` unless they name another one. */
  override(...terms: readonly Terms[]): void;
  /** From now on what is known is too old; it is asked for, and the answer comes when `answer` is called. */
  age(): void;
  answer(): void;
}

/** Overrides on a store, whose clock is the server's. */
export function overridden<S extends Store>(store: S): OverriddenStore<S> {
  const now = () => store.now();
  let view: ControlView = { record: { version: 0, overrides: [], orders: [] }, now };
  let known: ControlView | Promise<ControlView> = view;
  let answer = () => {};
  return {
    store: { ...store, control: { current: () => known } },
    override(...terms) {
      const overrides = terms.map((one) => ({ limiter: "api", from: now(), until: null, ...one }));
      view = { record: { ...view.record, version: view.record.version + 1, overrides }, now };
      if (!(known instanceof Promise)) known = view;
    },
    age() {
      known = new Promise((resolve) => {
        answer = () => resolve(view);
      });
    },
    answer() {
      answer();
      known = view;
    },
  };
}
