import { gcra } from "@headgate/core";

/** Everybody's limit: small, so that one subject reaches it, over a window in which next to nothing comes back. */
export const LIMIT = 20;

export const WINDOW_MS = 3_600_000;

export const limits = gcra({ limit: LIMIT, window: WINDOW_MS });

/** The header that names the subject over HTTP. */
export const SUBJECT_HEADER = "x-subject";
