import type { JSX } from "preact";
import { useContext } from "preact/hooks";
import type { SubjectByDimension } from "../../../src/api.ts";
import { ACTION_NOTES } from "../format/notes.ts";
import { formatSubject } from "../format/subject.ts";
import { truncateVisible } from "../format/visible.ts";
import type { ActionDraft } from "../page-context.ts";
import { PageContext } from "../page-context.ts";
import { Menu } from "../parts/menu.tsx";

/** The actions on a subject of a limiter that the visitor is allowed. */
export function SubjectTools({
  limiter,
  subject,
}: {
  limiter: string;
  subject: SubjectByDimension;
}): JSX.Element | null {
  const { isPermitted, openDialog } = useContext(PageContext);
  const items = draftsOf(limiter, subject)
    .filter(([, kind]) => isPermitted(kind))
    .map(([title, , draft]) => ({ title, run: () => openDialog(draft) }));
  if (items.length === 0) return null;
  return <Menu label={`Actions on ${truncateVisible(formatSubject(subject), 60)}`} items={items} />;
}

type Item = readonly [
  title: string,
  kind: "block" | "unblock" | "reset" | "forget" | "setOverride",
  draft: ActionDraft,
];

function draftsOf(limiter: string, subject: SubjectByDimension): readonly Item[] {
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
      "Ends its blocks, including those set by limits. Its usage does not change.",
    ),
    fixed("reset", "Reset", ACTION_NOTES.reset),
    ["Override its limits…", "setOverride", { form: "override", limiter, subject }],
    fixed("forget", "Forget", ACTION_NOTES.forget),
  ];
}
