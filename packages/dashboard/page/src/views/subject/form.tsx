import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SubjectLookup } from "../../../../src/api.ts";
import { kindOf } from "./lookup.ts";

type Kind = SubjectLookup["kind"];

/** The form for a lookup. */
export function SubjectForm({
  params,
  onSearch,
}: {
  params: Readonly<Record<string, string>>;
  onSearch: (lookup: SubjectLookup) => void;
}): JSX.Element {
  const [chosen, setChosen] = useState<Kind | undefined>(
    (["text", "address", "header"] as const).find((one) => one === params["kind"]),
  );
  const [subject, setSubject] = useState(params["subject"] ?? "");
  const [header, setHeader] = useState(params["header"] ?? "x-api-key");
  const kind = chosen ?? kindOf(subject);
  const submit = (event: SubmitEvent): void => {
    event.preventDefault();
    const form = new FormData(event.currentTarget as HTMLFormElement);
    const limiter = String(form.get("limiter") ?? "").trim();
    const only = limiter === "" ? {} : { limiter };
    onSearch({
      subject: subject.trim(),
      kind,
      ...(kind === "header" ? { header: header.trim() } : {}),
      ...only,
    });
  };
  return (
    <form class="lookup" onSubmit={submit} autocomplete="off">
      <label>
        <span>Client identified by</span>
        <select
          value={kind}
          onChange={({ currentTarget }) => setChosen(currentTarget.value as Kind)}
        >
          <option value="address">Address</option>
          <option value="text">Key, as text</option>
          <option value="header">Header</option>
        </select>
      </label>
      {kind === "header" && (
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
      <SubjectField kind={kind} value={subject} onInput={setSubject} />
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
  kind,
  value,
  onInput,
}: {
  kind: Kind;
  value: string;
  onInput: (value: string) => void;
}): JSX.Element {
  return (
    <label class="grow">
      <span>{LABELS[kind]}</span>
      <input
        required
        type={(kind === "header" ? "password" : "text") as "text"}
        value={value}
        spellcheck={false}
        autocomplete="off"
        placeholder={EXAMPLES[kind]}
        onInput={({ currentTarget }) => onInput(currentTarget.value)}
      />
    </label>
  );
}
