/** What actions on a subject do, for their dialogs. */
export const ACTION_NOTES = {
  reset: "Sets what it has used back to nothing, and ends its blocks by limits.",
  forget:
    "Erases all that is kept about this subject: usage and blocks in this limiter, its overrides in every limiter, and its name in the log. It cannot be undone.",
} as const;
