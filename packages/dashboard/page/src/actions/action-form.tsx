import type { ComponentChildren, JSX } from "preact";
import { useContext, useEffect, useId, useRef, useState } from "preact/hooks";
import type { Action, LimiterView } from "../../../src/api.ts";
import { asFailure } from "../client/failure.ts";
import { parseDuration } from "../format/time.ts";
import type { ActionDraft } from "../page-context.ts";
import { PageContext } from "../page-context.ts";
import { Name } from "../parts/text.tsx";
import type { Numbers, TypedNumbers } from "./changed-limits.ts";
import { changedLimits } from "./changed-limits.ts";

interface FormProps<Form extends ActionDraft["form"]> {
  readonly draft: Extract<ActionDraft, { form: Form }>;
  /** Undefined while something is missing. */
  readonly onChange: (action: Action | undefined) => void;
}

/** Marks a field without which the action cannot be confirmed. */
export function Required(): JSX.Element {
  return <span class="quiet">(required)</span>;
}

/** The form for an action's fields. */
export function ActionForm({
  draft,
  onChange,
}: FormProps<ActionDraft["form"]>): JSX.Element | null {
  switch (draft.form) {
    case "fixed":
      return null;
    case "block": {
      const { limiter, subject } = draft;
      return (
        <WithDuration
          toAction={(forMs) =>
            forMs === null ? undefined : { kind: "block", limiter, subject, forMs }
          }
          onChange={onChange}
        />
      );
    }
    case "shadow": {
      const { limiter, shadow } = draft;
      return (
        <WithDuration
          toAction={(forMs) => ({ kind: "setOverride", limiter, shadow, forMs })}
          onChange={onChange}
          canLast
        >
          <p>
            {shadow
              ? "In shadow mode, the limiter counts and reports but denies nothing. This replaces an override of the whole limiter."
              : "The limiter denies requests over its limits again. This replaces an override of the whole limiter."}
          </p>
        </WithDuration>
      );
    }
    case "deny":
      return <DenyForm draft={draft} onChange={onChange} />;
    case "override":
      return <OverrideForm draft={draft} onChange={onChange} />;
  }
}

function DenyForm({ draft, onChange }: FormProps<"deny">): JSX.Element {
  const [typed, setTyped] = useState(draft.network ?? "");
  const network = typed.trim();
  return (
    <WithDuration
      initialMs={86_400_000}
      toAction={(forMs) => (network === "" ? undefined : { kind: "addToDenyList", network, forMs })}
      onChange={onChange}
      canLast
    >
      <p>Every HTTP limiter of this prefix responds to its requests with 403.</p>
      {draft.network === undefined && (
        <label class="field">
          <span>
            Address or network <Required />
          </span>
          <input
            required
            value={typed}
            autocomplete="off"
            spellcheck={false}
            placeholder="203.0.113.7, or 203.0.113.0/24"
            onInput={({ currentTarget }) => setTyped(currentTarget.value)}
          />
        </label>
      )}
    </WithDuration>
  );
}

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
function OverrideForm({ draft, onChange }: FormProps<"override">): JSX.Element {
  const { limiter, subject } = draft;
  const found = useNumbers(draft);
  const numbers = typeof found === "string" ? undefined : found;
  const [typed, setTyped] = useState<TypedNumbers>({});
  const limits = changedLimits(numbers ?? {}, typed);
  const first = useFirstFieldFocus(numbers !== undefined);
  if (found === "loading") return <p class="quiet">Loading its limits…</p>;
  if (found === "failed") {
    return <p>Its limits could not be read. Close this dialog, and try again.</p>;
  }
  if (numbers === undefined || Object.keys(numbers).length === 0) {
    return <p>Its limits are unknown: no process with this limiter is listed now.</p>;
  }
  return (
    <WithDuration
      toAction={(forMs) =>
        limits && { kind: "setOverride", limiter, ...(subject && { subject }), limits, forMs }
      }
      onChange={onChange}
      canLast
    >
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
        Change at least one number; an empty field keeps its own. A new override replaces the
        previous one.
      </p>
    </WithDuration>
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

/** Why there are no numbers: `"unlisted"` if no process lists the limiter. */
type NoNumbers = "loading" | "failed" | "unlisted";

/** The numbers that can be replaced, requested from the server if the draft does not have them. */
function useNumbers(draft: FormProps<"override">["draft"]): Numbers | NoNumbers {
  const { source } = useContext(PageContext);
  const [view, setView] = useState<LimiterView | NoNumbers>("loading");
  useEffect(() => {
    if (draft.numbers) return undefined;
    const leaving = new AbortController();
    source
      .limiter(draft.limiter, "1h", leaving.signal)
      .then(setView)
      .catch((error) => setView(asFailure(error).status === 404 ? "unlisted" : "failed"));
    return () => leaving.abort();
  }, [draft]);
  if (draft.numbers) return draft.numbers;
  return typeof view === "string" ? view : (view.policies[0]?.numbers ?? "unlisted");
}

const CHOICES: readonly (readonly [string, number])[] = [
  ["10 minutes", 600_000],
  ["1 hour", 3_600_000],
  ["4 hours", 4 * 3_600_000],
  ["24 hours", 86_400_000],
  ["7 days", 7 * 86_400_000],
];

/** The fields of an action, and the last one, for its duration: a choice, a custom duration, or until it is removed (null). */
function WithDuration({
  initialMs = 3_600_000,
  canLast,
  toAction,
  onChange,
  children,
}: {
  initialMs?: number;
  canLast?: boolean;
  /** The action for a duration; undefined while another field is incomplete. */
  toAction: (forMs: number | null) => Action | undefined;
  onChange: FormProps<ActionDraft["form"]>["onChange"];
  children?: ComponentChildren;
}): JSX.Element {
  // Undefined while it is invalid.
  const [forMs, setForMs] = useState<number | null | undefined>(initialMs);
  const [isCustom, setCustom] = useState(false);
  const [text, setText] = useState("");
  const id = useId();
  const action = forMs === undefined ? undefined : toAction(forMs);
  useEffect(() => onChange(action), [JSON.stringify(action)]);
  const choose = (chosen: string): void => {
    setCustom(chosen === "own");
    if (chosen === "own") setForMs(parseDuration(text));
    else setForMs(chosen === "last" ? null : Number(chosen));
  };
  return (
    <>
      {children}
      <div class="field">
        <label for={id}>For how long</label>
        <div class="together">
          <select
            id={id}
            value={isCustom ? "own" : forMs === null ? "last" : String(forMs)}
            onChange={({ currentTarget }) => choose(currentTarget.value)}
          >
            {CHOICES.map(([title, ms]) => (
              <option key={ms} value={ms}>
                {title}
              </option>
            ))}
            <option value="own">another duration…</option>
            {canLast && <option value="last">until it is removed</option>}
          </select>
          {isCustom && (
            <input
              required
              aria-label="Duration, such as 90s, 15m, 2h or 3d"
              placeholder="90s, 15m, 2h, 3d"
              value={text}
              aria-invalid={text !== "" && forMs === undefined ? "true" : undefined}
              onInput={({ currentTarget }) => {
                setText(currentTarget.value);
                setForMs(parseDuration(currentTarget.value));
              }}
            />
          )}
        </div>
      </div>
    </>
  );
}
