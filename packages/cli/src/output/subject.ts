import { formatSubject } from "@headgate/core/admin";

/** A subject by dimension as one text: the default dimension without its name; `(everybody)` for none. */
export function formatSubjectLabel(subject: Readonly<Record<string, string>> | undefined): string {
  return formatSubject(subject, "(everybody)");
}
