import { isIP } from "node:net";
import { readPolicy } from "@headgate/core";
import type {
  LimiterVersion,
  RegistryLimiter,
  SubjectQuery,
  SubjectSource,
} from "@headgate/core/admin";
import {
  dimensionsOf,
  GLOBAL_SUBJECT,
  isGlobal,
  limiterVersionsOf,
  readRegistry,
  resolveSubjects,
  subjectSourcesOf,
} from "@headgate/core/admin";
import type { Command } from "commander";
import type { CommandContext } from "../command/cli.ts";
import { CommandError } from "../command/command-error.ts";
import { readJson, readText } from "../command/option-values.ts";
import type { Connection } from "../connect/connection.ts";
import { readSecret } from "../connect/secret.ts";
import { warnUnread } from "../list/registry.ts";
import type { SkippedLimiter } from "./action.ts";

/** A subject of a limiter, by dimension. */
export type Subject = Readonly<Record<string, string>>;

/** Options of `makeSubjects`. */
export interface SubjectsOptions {
  readonly includesShared?: boolean;
}

/** A subject, and the limiter that counts it. */
export type LimiterSubject = readonly [known: LimiterVersion, subject: Subject];

/** The options that `addSelectionOptions` adds to a command. */
export interface SelectionOptions {
  readonly subject?: readonly string[] | undefined;
  readonly ip?: string | undefined;
  readonly header?: string | undefined;
  readonly headerFile?: string | undefined;
  readonly hashSecretFile?: string | undefined;
  readonly limiter?: string | undefined;
  readonly limits?: string | undefined;
  readonly blockOn?: string | undefined;
}

/** Adds the options that select subjects and limiters. */
export function addSelectionOptions(command: Command): Command {
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
    )
    .option("--limiter <name>", "the name of the limiter in the registry")
    .option(
      "--limits <json>",
      "the policy as JSON, or @FILE, if the limiter is not in the registry",
    )
    .option("--block-on <settle>", "with --limits, if the limiter blocks by settled charges only");
}

/**
 * Finds the limiters that the options select: those in the registry, or the one whose policy is given. A limiter with several policies
 * has one entry for each. Rejects with a `CommandError`, and like `readRegistry`.
 */
export async function findLimiters(
  { store, timeoutMs }: Pick<Connection, "store" | "timeoutMs">,
  options: SelectionOptions,
  { stderr }: Pick<CommandContext, "stderr">,
): Promise<readonly LimiterVersion[]> {
  const { limiter: name, limits, blockOn } = options;
  if (limits !== undefined) return [limiterFromOptions(name, limits, blockOn)];
  if (blockOn !== undefined)
    throw new CommandError("--block-on is for a policy that --limits gives");
  const { limiters, unreadable } = await readRegistry(store, { timeout: timeoutMs });
  warnUnread(stderr, unreadable);
  if (name === undefined)
    return limiterVersionsOf(limiters.filter((one) => isListedCompletely(one, stderr)));
  const found = limiters.filter((one) => one.name === name);
  if (found.length === 0) throw unknownLimiterError(name, limiters);
  if (found.some(({ isTruncated }) => isTruncated === true)) {
    throw new CommandError(
      `the policy of ${JSON.stringify(name)} is too long for the registry: give it with --limits @FILE`,
    );
  }
  return limiterVersionsOf(found);
}

function limiterFromOptions(
  name: string | undefined,
  json: string,
  blockOn: string | undefined,
): LimiterVersion {
  if (name === undefined)
    throw new CommandError("--limits is the policy of one limiter: give its name with --limiter");
  if (blockOn !== undefined && blockOn !== "settle")
    throw new CommandError('--block-on must be "settle"');
  const policy = readPolicy(readJson("--limits", json));
  const limits = Array.isArray(policy) ? policy : [policy];
  return {
    limiter: { name, limits, perCallPolicies: [], blockOn },
    perCallPolicies: [],
    uses: [],
    counterIdentity: "",
    hasOtherVersions: false,
  };
}

function isListedCompletely(
  { name, isTruncated }: RegistryLimiter,
  stderr: NodeJS.WritableStream,
): boolean {
  if (isTruncated !== true) return true;
  stderr.write(
    `headgate: skipped ${JSON.stringify(name)}, whose policy is too long for the registry: name it, and give its policy with --limits @FILE\n`,
  );
  return false;
}

function unknownLimiterError(name: string, limiters: readonly RegistryLimiter[]): CommandError {
  const names = [...new Set(limiters.map((one) => JSON.stringify(one.name)))];
  const there = names.length === 0 ? "which is empty" : `which has ${names.join(", ")}`;
  return new CommandError(
    `no limiter ${JSON.stringify(name)} in the registry, ${there}; if it is not listed yet, as in the first 15 seconds of a process, give its policy with --limits`,
  );
}

/** Reads the options that select a subject. Each limiter makes its own subject of them. Rejects with a `CommandError`, whose message contains no header values. */
export async function readSubjectQuery(
  text: string | undefined,
  options: SelectionOptions,
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

/**
 * Makes the subjects of limiters in the same way as their adapters, and lists the limiters without one. A limiter that counts all
 * clients together has one for every client only with `includesShared`: an action on it would affect all clients. Rejects with a
 * `CommandError`, and with `HEADGATE_INVALID_OPTION`.
 */
export async function makeSubjects(
  limiters: readonly LimiterVersion[],
  query: SubjectQuery,
  { includesShared = false }: SubjectsOptions = {},
): Promise<{
  readonly limiterSubjects: readonly LimiterSubject[];
  readonly skipped: readonly SkippedLimiter[];
}> {
  const named = [...(query.named?.keys() ?? [])];
  const limiterSubjects: LimiterSubject[] = [];
  const skipped: SkippedLimiter[] = [];
  for (const known of limiters) {
    const { name, limits } = known.limiter;
    const dimensions = dimensionsOf(limits);
    const unknown = named.find((dimension) => !dimensions.includes(dimension));
    const own = unknown === undefined ? await resolveSubjects(known, query) : [];
    const subjects = includesShared && isGlobal(limits) ? [{ global: GLOBAL_SUBJECT }] : own;
    limiterSubjects.push(...subjects.map((subject): LimiterSubject => [known, subject]));
    if (subjects.length > 0) continue;
    skipped.push({ limiter: name, reason: formatRequirement(dimensions, known, unknown) });
  }
  return { limiterSubjects, skipped };
}

/** The error that no limiter counts such a subject. */
export function noSubjectError(skipped: readonly SkippedLimiter[]): CommandError {
  if (skipped.length === 0) {
    return new CommandError(
      "the registry has no limiters: give --limiter NAME, and its policy with --limits",
    );
  }
  const each = skipped.slice(0, 5).map(({ limiter, reason }) => `${limiter} ${reason}`);
  const more = skipped.length > 5 ? `; and ${skipped.length - 5} more` : "";
  return new CommandError(`no limiter counts such a subject: ${each.join("; ")}${more}`);
}

function formatRequirement(
  dimensions: readonly string[],
  known: LimiterVersion,
  unknown: string | undefined,
): string {
  const counts = `counts by ${dimensions.join(", ")}`;
  if (unknown !== undefined) return `${counts}, not by ${unknown}`;
  const each = dimensions.map((dimension) => {
    if (dimension === "global") return "--subject global=*";
    const ways = subjectSourcesOf(known, dimension).map((source) =>
      formatOption(dimension, source),
    );
    return [...new Set(ways)].join(" or ");
  });
  return `${counts}: give ${each.join(" and ")}`;
}

function formatOption(dimension: string, source: SubjectSource | undefined): string {
  if (source?.by === "ip") return "--ip ADDRESS";
  if (source?.by === "header") return `--header ${source.name}`;
  if (source?.by === "combined") return source.keys.map(formatPart).join(" with ");
  const how = source === undefined ? "" : " (as returned by the application's key function)";
  return `--subject ${dimension}=VALUE${how}`;
}

function formatPart(source: SubjectSource): string {
  return source.by === "function"
    ? "SUBJECT (as returned by the application's key function)"
    : formatOption("", source);
}
