import { formatSubject } from "@headgate/core/admin";
import type { SubjectByDimension } from "../api.ts";

/** A subject by dimension as one text: the default dimension without its name. */
export function describeSubject(subject: SubjectByDimension | undefined): string {
  return formatSubject(subject, "all clients");
}
