import type { ActionDraft } from "../page-context.ts";

/** The title of the dialog for a draft, and the label of its button. */
export function titleOf(draft: ActionDraft): string {
  switch (draft.form) {
    case "fixed":
      return draft.title;
    case "block":
      return "Block";
    case "override":
      return "Override limits";
    case "shadow":
      return draft.shadow ? "Put in shadow mode" : "Enforce";
    case "deny":
      return "Add to the deny list";
  }
}
