import { CommandError } from "../command/command-error.ts";

const NAMES = ["time", "client", "method", "path", "status"] as const;

/** The field names of a log in JSON lines. */
export interface FieldNames {
  readonly time: string;
  readonly client: string;
  readonly method?: string;
  readonly path?: string;
  readonly status?: string;
}

/** Reads `--fields`, as in `time=ts,client=request.remote_ip`. Throws a `CommandError`. */
export function parseFields(text: string): FieldNames {
  const fields: Record<string, string> = {};
  for (const part of text.split(",")) {
    const at = part.indexOf("=");
    const name = part.slice(0, Math.max(at, 0)).trim();
    const field = part.slice(at + 1).trim();
    if (at === -1 || field === "" || !(NAMES as readonly string[]).includes(name)) {
      throw new CommandError(
        `--fields must list fields, as in time=ts,client=remote_addr (and method, path, status), got ${JSON.stringify(part)}`,
      );
    }
    if (Object.hasOwn(fields, name)) throw new CommandError(`--fields names ${name} twice`);
    fields[name] = field;
  }
  const missing = ["time", "client"].find((name) => !Object.hasOwn(fields, name));
  if (missing !== undefined) {
    throw new CommandError(
      `--fields must name the field with the ${missing}, as in time=ts,client=remote_addr`,
    );
  }
  return fields as unknown as FieldNames;
}
