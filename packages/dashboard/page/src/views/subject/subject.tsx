import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SubjectLookup, SubjectView } from "../../../../src/api.ts";
import { usePolling } from "../../client/use-polling.ts";
import { Empty } from "../../parts/panel.tsx";
import type { Route } from "../../route.ts";
import { hrefOf } from "../../route.ts";
import { SubjectForm } from "./form.tsx";
import { lookupFromParams, paramsOfLookup } from "./lookup.ts";
import { SubjectResult } from "./result.tsx";

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
  if (data) return <SubjectResult view={data} />;
  return failure ? null : <p class="quiet">Loading…</p>;
}
