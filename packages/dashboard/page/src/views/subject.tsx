import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SubjectLookup, SubjectView } from "../../../src/api.ts";
import { usePolling } from "../client/use-polling.ts";
import { Empty } from "../parts/panel.tsx";
import type { Route } from "../route.ts";
import { hrefOf, kindOf, lookupFromParams, paramsOfLookup } from "../route.ts";
import { SubjectResult } from "./subject-result.tsx";

/** A lookup by the value of a header, and the time of the search. */
interface SecretLookup {
  readonly lookup: SubjectLookup;
  readonly searchedAt: number;
}

/** Explains why a client is denied: finds it by its address, its key, or a header's value. */
export function SubjectSearch({ route }: { route: Route }): JSX.Element {
  // A header's value is only in memory, because it must not be in the URL.
  const [secret, setSecret] = useState<SecretLookup>();
  const lookup =
    route.params["kind"] === "header" ? secret?.lookup : lookupFromParams(route.params);
  const search = (searched: SubjectLookup): void => {
    setSecret(
      searched.kind === "header" ? { lookup: searched, searchedAt: Date.now() } : undefined,
    );
    location.hash = hrefOf("subject", paramsOfLookup(searched));
  };
  return (
    <>
      <h1 class={lookup ? "visually-hidden" : ""}>Why is a client denied?</h1>
      <SubjectForm key={JSON.stringify(route.params)} params={route.params} onSearch={search} />
      {lookup ? (
        <LookupResult key={secret?.searchedAt ?? 0} lookup={lookup} />
      ) : (
        <Empty>
          {route.params["kind"] === "header"
            ? "Enter the header’s value. It is not in the URL; the server looks up its hash, and stores neither."
            : "Enter the client’s address, or the value that your key function returns for it, such as a user ID. For an API key in a header, choose “Header” and the header’s name."}
        </Empty>
      )}
    </>
  );
}

function LookupResult({ lookup }: { lookup: SubjectLookup }): JSX.Element | null {
  const isSecret = lookup.kind === "header";
  const key = isSecret ? "subject by header" : `subject ${JSON.stringify(lookup)}`;
  const { data, failure } = usePolling<SubjectView>(
    key,
    (source, signal) => source.subject(lookup, signal),
    isSecret,
  );
  if (data) return <SubjectResult view={data} lookup={lookup} />;
  return failure ? null : <p class="quiet">Loading…</p>;
}

type Kind = SubjectLookup["kind"];

function SubjectForm({
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
        {/* Not `value`: a rendering while the visitor types in another field would restore it. */}
        <input
          name="limiter"
          defaultValue={params["limiter"] ?? ""}
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
