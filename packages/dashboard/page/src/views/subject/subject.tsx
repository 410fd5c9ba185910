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

/** Explains why a client is denied: finds it by its address, its key, or a header's value. */
export function SubjectSearch({ route }: { route: Route }): JSX.Element {
  // A header's value is only in memory, because it must not be in the URL.
  const [secret, setSecret] = useState<SubjectLookup & { asked: number }>();
  const lookup = route.params["as"] === "header" ? secret : lookupFromParams(route.params);
  const search = (lookup: SubjectLookup): void => {
    setSecret(lookup.as === "header" ? { ...lookup, asked: Date.now() } : undefined);
    location.hash = hrefOf("subject", paramsOfLookup(lookup));
  };
  return (
    <>
      <h1 class={lookup ? "silent" : ""}>Why is a client denied?</h1>
      <SubjectForm key={JSON.stringify(route.params)} params={route.params} onAsk={search} />
      {lookup ? (
        <LookupResult key={secret?.asked ?? 0} question={lookup} />
      ) : (
        <Empty>
          {route.params["as"] === "header"
            ? "Enter the header’s value. It is not in the URL; the server looks up its hash, and stores neither."
            : "Enter the client’s address, or the value that your key function returns for it, such as a user ID. For an API key in a header, choose “Header” and the header’s name."}
        </Empty>
      )}
    </>
  );
}

function LookupResult({ question: lookup }: { question: SubjectLookup }): JSX.Element | null {
  const { asked: _, ...body } = lookup as SubjectLookup & { asked?: number };
  const isSecret = body.as === "header";
  const key = isSecret ? "subject by header" : `subject ${JSON.stringify(body)}`;
  const { data, failure } = usePolling<SubjectView>(
    key,
    (source, signal) => source.subject(body, signal),
    isSecret,
  );
  if (data) return <SubjectResult view={data} />;
  return failure ? null : <p class="quiet">Loading…</p>;
}
