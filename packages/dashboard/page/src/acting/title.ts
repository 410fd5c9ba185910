import type { Draft } from "../visit.ts";

/** What the dialog of a draft is called, and the button that does it. */
export function titleOf(draft: Draft): string {
  switch (draft.form) {
    case "fixed":
      return draft.title;
    case "block":
      return "Block";
    case "override":
      return "Override limits";
    case "shadow":
      return draft.shadow ? "Put in shadow" : "Enforce";
    case "deny":
      return "Add to the deny list";
  }
}
