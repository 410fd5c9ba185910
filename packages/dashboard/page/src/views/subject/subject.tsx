import type { JSX } from "preact";
import { useState } from "preact/hooks";
import type { SubjectQuestion, SubjectView } from "../../../../src/api.ts";
import { usePolled } from "../../client/use-polled.ts";
import { Empty } from "../../parts/panel.tsx";
import type { Route } from "../../route.ts";
import { hrefOf } from "../../route.ts";
import { SubjectAnswer } from "./answer.tsx";
import { SubjectForm } from "./form.tsx";
import { paramsOf, questionOf } from "./question.ts";

/** Why a client is denied: searches by its address, its key, or a header's value. */
export function SubjectSearch({ route }: { route: Route }): JSX.Element {
  // Only in memory, because it must not be in the URL: it is gone with the view.
  const [secret, setSecret] = useState<SubjectQuestion & { asked: number }>();
  const question = route.params["as"] === "header" ? secret : questionOf(route.params);
  const ask = (asked: SubjectQuestion): void => {
    setSecret(asked.as === "header" ? { ...asked, asked: Date.now() } : undefined);
    location.hash = hrefOf("subject", paramsOf(asked));
  };
  return (
    <>
      <h1 class={question ? "silent" : ""}>Why is a client denied?</h1>
      <SubjectForm key={JSON.stringify(route.params)} params={route.params} onAsk={ask} />
      {question ? (
        <Answered key={secret?.asked ?? 0} question={question} />
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

function Answered({ question }: { question: SubjectQuestion }): JSX.Element | null {
  const { asked: _, ...body } = question as SubjectQuestion & { asked?: number };
  const isSecret = body.as === "header";
  const key = isSecret ? "subject by header" : `subject ${JSON.stringify(body)}`;
  const { data, failure } = usePolled<SubjectView>(
    key,
    (source, signal) => source.subject(body, signal),
    isSecret,
  );
  if (data) return <SubjectAnswer view={data} />;
  return failure ? null : <p class="quiet">Loading…</p>;
}
