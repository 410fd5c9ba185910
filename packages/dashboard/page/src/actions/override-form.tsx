import type { JSX } from "preact";
import { useContext, useEffect, useRef, useState } from "preact/hooks";
import type { Action, LimiterView } from "../../../src/api.ts";
import type { ActionDraft } from "../page-context.ts";
import { PageContext } from "../page-context.ts";
import { Name } from "../parts/text.tsx";
import type { Numbers, TypedNumbers } from "./changed-limits.ts";
import { changedLimits } from "./changed-limits.ts";
import { DurationField } from "./duration-field.tsx";

type OverrideDraft = Extract<ActionDraft, { form: "override" }>;

const FIELDS: Readonly<Record<string, string>> = {
  limit: "limit",
  burst: "at once",
  capacity: "capacity",
  refill: "refill",
};

/**
 * New numbers for the limits of a limiter. Each field starts with the number that applies without the override; unchanged ones
 * are not sent.
 */
export function OverrideForm({
  draft,
  onChange,
}: {
  draft: OverrideDraft;
  onChange: (action: Action | undefined) => void;
}): JSX.Element {
  const { limiter, subject } = draft;
  const [numbers, isKnown] = useNumbers(draft);
  const [typed, setTyped] = useState<TypedNumbers>({});
  const [forMs, setForMs] = useState<number | null | undefined>(3_600_000);
  const limits = changedLimits(numbers ?? {}, typed);
  const first = useFirstFieldFocus(numbers !== undefined);
  useEffect(() => {
    const isComplete = limits !== undefined && forMs !== undefined;
    const owner = subject ? { limiter, subject } : { limiter };
    onChange(isComplete ? { kind: "setOverride", ...owner, limits, forMs } : undefined);
  }, [JSON.stringify(limits), forMs]);
  if (!isKnown) return <p class="quiet">Loading its limits…</p>;
  if (numbers === undefined || Object.keys(numbers).length === 0) {
    return <p>Its limits are unknown: no process with this limiter is listed now.</p>;
  }
  return (
    <>
      {Object.entries(numbers).map(([limit, fields], i) => (
        <fieldset key={limit} ref={i === 0 ? first : null}>
          <legend>
            <Name value={limit} />
          </legend>
          <div class="together">
            {Object.entries(fields).map(([field, own]) => (
              <label key={field} class="number-field">
                <span>{FIELDS[field] ?? field}</span>
                <input
                  type="number"
                  min="0"
                  step="1"
                  inputMode="numeric"
                  placeholder={String(own)}
                  value={typed[limit]?.[field] ?? ""}
                  onInput={({ currentTarget }) =>
                    setTyped({
                      ...typed,
                      [limit]: { ...typed[limit], [field]: currentTarget.value },
                    })
                  }
                />
              </label>
            ))}
          </div>
        </fieldset>
      ))}
      <p class="quiet">
        An empty field keeps its number. A new override replaces the previous one.
      </p>
      <DurationField value={forMs} onChange={setForMs} canLast />
    </>
  );
}

/** Focuses the first field when the numbers have arrived, unless the operator has already typed elsewhere. */
function useFirstFieldFocus(isThere: boolean): { current: HTMLFieldSetElement | null } {
  const box = useRef<HTMLFieldSetElement>(null);
  useEffect(() => {
    const { activeElement } = document;
    const isTyping = activeElement instanceof HTMLInputElement && activeElement.value !== "";
    if (isThere && !isTyping) box.current?.querySelector("input")?.focus();
  }, [isThere]);
  return box;
}

/** The numbers that can be replaced; requested from the server if the draft does not have them. */
function useNumbers(
  draft: OverrideDraft,
): readonly [numbers: Numbers | undefined, isKnown: boolean] {
  const { source } = useContext(PageContext);
  const [view, setView] = useState<LimiterView | null>();
  useEffect(() => {
    if (draft.numbers) return undefined;
    const leaving = new AbortController();
    source
      .limiter(draft.limiter, "1h", leaving.signal)
      .then(setView)
      .catch(() => setView(null));
    return () => leaving.abort();
  }, [draft]);
  if (draft.numbers) return [draft.numbers, true];
  return [view?.policies[0]?.numbers, view !== undefined];
}
