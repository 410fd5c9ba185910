import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SubjectLookup } from "../../../../src/api.ts";
import { kindOf } from "./lookup.ts";

type Kind = SubjectLookup["as"];

/** The form for a lookup. */
export function SubjectForm({
  params,
  onAsk,
}: {
  params: Readonly<Record<string, string>>;
  onAsk: (lookup: SubjectLookup) => void;
}): JSX.Element {
  const [chosen, setChosen] = useState<Kind | undefined>(
    (["text", "address", "header"] as const).find((one) => one === params["as"]),
  );
  const [subject, setSubject] = useState(params["subject"] ?? "");
  const [header, setHeader] = useState(params["header"] ?? "x-api-key");
  const as = chosen ?? kindOf(subject);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const limiter = String(form.get("limiter") ?? "").trim();
    const only = limiter === "" ? {} : { limiter };
    onAsk({
      subject: subject.trim(),
      as,
      ...(as === "header" ? { header: header.trim() } : {}),
      ...only,
    });
  };
  return (
    <form class="question" onSubmit={submit} autocomplete="off">
      <label>
        <span>Client identified by</span>
        <select value={as} onChange={({ currentTarget }) => setChosen(currentTarget.value as Kind)}>
          <option value="address">Address</option>
          <option value="text">Key, as text</option>
          <option value="header">Header</option>
        </select>
      </label>
      {as === "header" && (
        <label>
          <span>Header</span>
          <input
            required
            value={header}
            spellcheck={false}
            onInput={({ currentTarget }) => setHeader(currentTarget.value)}
          />
        </label>
      )}
      <SubjectField as={as} value={subject} onInput={setSubject} />
      <label>
        <span>Only in limiter</span>
        <input
          name="limiter"
          value={params["limiter"] ?? ""}
          placeholder="all"
          spellcheck={false}
        />
      </label>
      <button type="submit" class="primary">
        Look up
      </button>
    </form>
  );
}

const LABELS: Readonly<Record<Kind, string>> = {
  address: "Address",
  text: "Key",
  header: "Value: hashed on the server, not stored",
};

const EXAMPLES: Readonly<Record<Kind, string>> = {
  address: "203.0.113.250",
  text: "user-4711",
  header: "",
};

function SubjectField({
  as,
  value,
  onInput,
}: {
  as: Kind;
  value: string;
  onInput: (value: string) => void;
}): JSX.Element {
  return (
    <label class="grow">
      <span>{LABELS[as]}</span>
      <input
        required
        type={(as === "header" ? "password" : "text") as "text"}
        value={value}
        spellcheck={false}
        autocomplete="off"
        placeholder={EXAMPLES[as]}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </label>
  );
}
