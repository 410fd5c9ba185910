import type { Ref } from "vue";
import { shallowRef, watchEffect } from "vue";
import type { Outcome } from "./decide-all.ts";
import type { Setting } from "./setting.ts";

/** The decisions for a setting, or the error. Both are undefined until the package has decided. */
export interface Shown {
  readonly outcome: Readonly<Ref<Outcome | undefined>>;
  readonly error: Readonly<Ref<{ readonly message: string; readonly code?: string } | undefined>>;
}

/** Decides a setting again whenever it changes. The package is fetched with the first one, in the browser only. */
export function useOutcome(setting: () => Setting): Shown {
  const outcome = shallowRef<Outcome>();
  const error = shallowRef<{ message: string; code?: string }>();
  let latest = 0;
  watchEffect(async () => {
    const own = setting();
    if (import.meta.env.SSR) return;
    latest += 1;
    const turn = latest;
    const { decideAll } = await import("./decide-all.ts");
    const result = await decideAll(own).then(
      (decided) => ({ decided, failed: undefined }),
      (failed) => ({ decided: undefined, failed }),
    );
    if (turn !== latest) return;
    outcome.value = result.decided;
    error.value = result.failed;
  });
  return { outcome, error };
}
