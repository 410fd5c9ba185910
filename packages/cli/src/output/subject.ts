import { formatSubject } from "@headgate/core/admin";

/** Formats a subject; the default dimension has no name. Without a subject: `(all subjects)`. */
export function formatSubjectLabel(subject: Readonly<Record<string, string>> | undefined): string {
  return formatSubject(subject, "(all subjects)");
}
