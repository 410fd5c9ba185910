import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import type { Action } from "../../../src/api.ts";
import type { ActionDraft } from "../page-context.ts";
import { DurationField } from "./duration-field.tsx";
import { OverrideForm } from "./override-form.tsx";

interface FormProps<D> {
  readonly draft: D;
  /** Undefined while something is missing. */
  readonly onChange: (action: Action | undefined) => void;
}

type DraftOf<F extends ActionDraft["form"]> = Extract<ActionDraft, { form: F }>;

/** The form for an action's fields. */
export function ActionForm({ draft, onChange }: FormProps<ActionDraft>): JSX.Element | null {
  switch (draft.form) {
    case "fixed":
      return null;
    case "block":
      return <BlockForm draft={draft} onChange={onChange} />;
    case "override":
      return <OverrideForm draft={draft} onChange={onChange} />;
    case "shadow":
      return <ShadowForm draft={draft} onChange={onChange} />;
    case "deny":
      return <DenyForm draft={draft} onChange={onChange} />;
  }
}

function BlockForm({
  draft: { limiter, subject },
  onChange,
}: FormProps<DraftOf<"block">>): JSX.Element {
  const [forMs, setForMs] = useState<number | null | undefined>(3_600_000);
  useEffect(
    () =>
      onChange(typeof forMs === "number" ? { kind: "block", limiter, subject, forMs } : undefined),
    [forMs],
  );
  return <DurationField value={forMs} onChange={setForMs} />;
}

function ShadowForm({
  draft: { limiter, shadow },
  onChange,
}: FormProps<DraftOf<"shadow">>): JSX.Element {
  const [forMs, setForMs] = useState<number | null | undefined>(3_600_000);
  useEffect(
    () =>
      onChange(forMs === undefined ? undefined : { kind: "setOverride", limiter, shadow, forMs }),
    [forMs],
  );
  return (
    <>
      <p>
        {shadow
          ? "In shadow mode, the limiter counts and reports but denies nothing. This replaces an override of the whole limiter."
          : "The limiter denies requests over its limits again. This replaces an override of the whole limiter."}
      </p>
      <DurationField value={forMs} onChange={setForMs} canLast />
    </>
  );
}

function DenyForm({ draft, onChange }: FormProps<DraftOf<"deny">>): JSX.Element {
  const [network, setNetwork] = useState(draft.network ?? "");
  const [forMs, setForMs] = useState<number | null | undefined>(86_400_000);
  const given = network.trim();
  useEffect(
    () =>
      onChange(
        given === "" || forMs === undefined
          ? undefined
          : { kind: "addToDenyList", network: given, forMs },
      ),
    [given, forMs],
  );
  return (
    <>
      <p>Every HTTP limiter of this prefix responds to its requests with 403.</p>
      {draft.network === undefined && (
        <label class="field">
          <span>Address or network</span>
          <input
            required
            value={network}
            autocomplete="off"
            spellcheck={false}
            placeholder="203.0.113.7, or 203.0.113.0/24"
            onInput={({ currentTarget }) => setNetwork(currentTarget.value)}
          />
        </label>
      )}
      <DurationField value={forMs} onChange={setForMs} canLast />
    </>
  );
}
