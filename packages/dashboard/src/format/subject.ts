import { formatSubject } from "@headgate/core/operate";
import type { SubjectOf } from "../api.ts";

/** A subject by dimension as one text: the default dimension without its name. */
export function formatSubject(subject: SubjectOf | undefined): string {
  return formatSubject(subject, "all clients");
}
