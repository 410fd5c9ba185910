import { gcra } from "@headgate/core";

/** The limit of every limiter: small, so that one subject reaches it, over a window long enough that hardly any units recover. */
export const LIMIT = 20;

export const WINDOW_MS = 3_600_000;

export const limits = gcra({ limit: LIMIT, window: WINDOW_MS });

/** The header that names the subject over HTTP. */
export const SUBJECT_HEADER = "x-subject";
