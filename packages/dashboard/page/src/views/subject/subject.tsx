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

/** Why a client is denied: searches by its address, its key, or a header's value. */
export function SubjectSearch({ route }: { route: Route }): JSX.Element {
  // Only in memory, because it must not be in the URL: it is gone with the view.
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
            ? "Type the header’s value: it is not kept in the URL. The server looks for its hash, and forgets it."
            : "Type the client’s address, or the key your application counts it by, such as a user’s id. For an API key, choose “Header” and its name."}
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
