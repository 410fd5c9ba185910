import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { SubjectOf } from "../../../src/api.ts";
import { NOTES } from "../format/notes.ts";
import { subjectInWords } from "../format/subject.ts";
import { visibleStart } from "../format/visible.ts";
import { Menu } from "../parts/menu.tsx";
import type { Draft } from "../visit.ts";
import { PageContext } from "../visit.ts";

/** The actions on a subject of a limiter that the visitor is allowed. */
export function SubjectTools({
  limiter,
  subject,
}: {
  limiter: string;
  subject: SubjectOf;
}): JSX.Element | null {
  const { may, open } = useContext(PageContext);
  const items = draftsOf(limiter, subject)
    .filter(([, kind]) => may(kind))
    .map(([title, , draft]) => ({ title, run: () => open(draft) }));
  if (items.length === 0) return null;
  return <Menu label={`Actions on ${visibleStart(subjectInWords(subject), 60)}`} items={items} />;
}

type Item = readonly [
  title: string,
  kind: "block" | "unblock" | "reset" | "forget" | "setOverride",
  draft: Draft,
];

function draftsOf(limiter: string, subject: SubjectOf): readonly Item[] {
  const fixed = (kind: "unblock" | "reset" | "forget", title: string, note: string): Item => [
    `${title}…`,
    kind,
    { form: "fixed", title, note, action: { kind, limiter, subject } },
  ];
  return [
    ["Block…", "block", { form: "block", limiter, subject }],
    fixed(
      "unblock",
      "Unblock",
      "Ends its blocks, also those that a limit has set. What it has used stays used.",
    ),
    fixed("reset", "Reset", NOTES.reset),
    ["Override its limits…", "setOverride", { form: "override", limiter, subject }],
    fixed("forget", "Forget", NOTES.forget),
  ];
}
