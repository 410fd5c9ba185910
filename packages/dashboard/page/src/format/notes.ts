/** Explanations of actions on a subject, for their dialogs. */
export const ACTION_NOTES = {
  reset: "Resets its usage to zero, and ends the blocks that limits have set.",
  forget:
    "Erases all stored data about this subject: usage and blocks in this limiter, its overrides in every limiter, and its name in the log. This cannot be undone.",
} as const;
