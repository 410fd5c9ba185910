import { isIP } from "node:net";
import type { SubjectQuery } from "@headgate/core/admin";
import type { Command } from "commander";
import type { CommandContext } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { readText } from "../command/read-json.ts";
import { readSecret } from "../connect/secret.ts";

/** The options that `addSubjectOptions` adds to a command. */
export interface SubjectOptions {
  readonly subject?: readonly string[] | undefined;
  readonly ip?: string | undefined;
  readonly header?: string | undefined;
  readonly headerFile?: string | undefined;
  readonly hashSecretFile?: string | undefined;
}

export function addSubjectOptions(command: Command): Command {
  return command
    .option(
      "--subject <dimension=value>",
      "the subject of a dimension; may be repeated",
      (value: string, before: readonly string[] = []) => [...before, value],
    )
    .option("--ip <address>", "the client with this address")
    .option(
      "--header <name>",
      "the client that sends this header, whose value is read from standard input or a prompt",
    )
    .option("--header-file <file>", "read the header's value from a file")
    .option(
      "--hash-secret-file <file>",
      "read the hashSecret of the limiter's key from a file, not from standard input",
    );
}

/** Reads the options that select a subject. Each limiter makes its own subject of them. Rejects with a `CommandError`, whose message contains no header values. */
export async function readSubjectQuery(
  text: string | undefined,
  options: SubjectOptions,
  context: CommandContext,
): Promise<SubjectQuery> {
  const { ip, header, headerFile, hashSecretFile } = options;
  const named = new Map<string, string>();
  let subject = text;
  for (const given of options.subject ?? []) {
    const at = given.indexOf("=");
    if (at > 0 && at < given.length - 1) named.set(given.slice(0, at), given.slice(at + 1));
    else if (at === -1 && subject === undefined && given !== "") subject = given;
    else
      throw new CommandError("--subject must be dimension=value; a value alone may be given once");
  }
  if (ip !== undefined && isIP(ip.replace(/%.*$/s, "")) === 0) {
    throw new CommandError("--ip must be an IP address, such as 203.0.113.7 or 2001:db8::7");
  }
  if (subject === undefined && named.size === 0 && ip === undefined && header === undefined) {
    throw new CommandError("give a SUBJECT, --subject dimension=value, --ip or --header");
  }
  let secret: Promise<string> | undefined;
  return {
    text: subject,
    named,
    ip,
    header: await readHeader(header, headerFile, context),
    hasHashSecret: hashSecretFile !== undefined,
    hashSecret() {
      secret ??=
        hashSecretFile === undefined
          ? readSecret("hashSecret", context)
          : readSecretFile("--hash-secret-file", hashSecretFile);
      return secret;
    },
  };
}

async function readHeader(
  name: string | undefined,
  file: string | undefined,
  context: CommandContext,
): Promise<SubjectQuery["header"]> {
  if (name === undefined) {
    if (file === undefined) return undefined;
    throw new CommandError(
      "--header-file contains the value of a header: give the name of the header with --header",
    );
  }
  // The error does not repeat the text, which may contain the value.
  if (!/^[!#$%&'*+.^`|~\w-]{1,64}$/.test(name)) {
    throw new CommandError(
      "--header takes only the header's name; its value comes from standard input or --header-file",
    );
  }
  const value =
    file === undefined
      ? await readSecret(`value of ${name}`, context)
      : await readSecretFile("--header-file", file);
  return { name: name.toLowerCase(), value };
}

/** Reads the first line of a file. */
export async function readSecretFile(option: string, file: string): Promise<string> {
  const [line = ""] = readText(option, file).split(/\r?\n/);
  if (line !== "") return line;
  throw new CommandError(`${option}: ${file} is empty`);
}
