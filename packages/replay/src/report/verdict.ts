import { formatCount, formatShare, pluralize } from "../format/number.ts";
import { formatSpan, formatUtcTime } from "../format/time.ts";
import { formatOrder } from "../log/log-notes.ts";
import type { DeniedClient, PolicyResult, ReplayedLog } from "../replay/result.ts";
import type { Markup } from "./markup.ts";
import { escapeUnseen, html, untrustedText } from "./markup.ts";

/** The most denied clients named in a sentence. */
const NAMED = 3;

/** Renders which clients a policy would have denied, as a sentence whose subject is `subject`. */
export function renderVerdict(subject: Markup, policy: PolicyResult, log: ReplayedLog): Markup {
  const { clients, clientsDenied } = policy;
  const of = pluralize(log.clients, "client");
  if (clientsDenied === 0) return html`${subject} would have denied none of ${of}.`;
  return html`${subject} would have denied ${formatCount(clientsDenied)} of ${of}${namesOf(clients, clientsDenied)}.`;
}

function namesOf(clients: readonly DeniedClient[], count: number): Markup {
  const names = clients.slice(0, NAMED).map(({ client }) => untrustedText(client, 60));
  const [first, ...others] = names;
  if (first === undefined) return html``;
  if (count > NAMED) return html`, ${first} most often`;
  const last = others.pop();
  if (last === undefined) return html`: ${first}`;
  return html`: ${first}${others.map((name) => html`, ${name}`)} and ${last}`;
}

/** Renders the effects of a policy as sentences. */
export function renderEffects(policy: PolicyResult, log: ReplayedLog): readonly Markup[] {
  const { clients, clientsDenied, denied } = policy;
  const spared = log.clients - clientsDenied;
  const shown = clients.slice(0, NAMED);
  const rest = clientsDenied - shown.length;
  return [
    html`<strong>${formatCount(spared)} of ${pluralize(log.clients, "client")}</strong> (${formatShare(spared, log.clients)}) would not have been affected.`,
    ...shown.map(
      ({ client, requests, denied: lost, longestWaitMs }) =>
        html`<strong>${untrustedText(client, 60)}</strong>: ${formatCount(lost)} of its ${pluralize(requests, "request")} (${formatShare(lost, requests)}) would have been denied. The longest wait it would have been told: ${formatSpan(longestWaitMs)}.`,
    ),
    ...(rest > 0
      ? [html`${pluralize(rest, "more client")} would have been denied at least once.`]
      : []),
    html`In total, ${formatCount(denied)} of ${pluralize(log.requests, "request")} (${formatShare(denied, log.requests)}) would have been denied.`,
  ];
}

/** Renders the log as sentences: what was read, and whether it was in order. */
export function renderLogSummary(log: ReplayedLog): Markup {
  const { files, requests, clients, from, to } = log;
  const order = formatOrder(log);
  return html`${pluralize(requests, "request")} from ${pluralize(clients, "client")}, ${renderPeriod(from ?? 0, to ?? 0)}${renderSource(files)}.${order === undefined ? "" : ` ${order}`}`;
}

/** A log of lines or entries has no files. */
function renderSource([file, ...others]: readonly string[]): Markup {
  if (file === undefined) return html``;
  const name = file === "-" ? html`standard input` : untrustedText(baseOf(file), 60);
  const more = others.length > 0 ? ` and ${pluralize(others.length, "other file")}` : "";
  return html`, read from ${name}${more}`;
}

/** The name of a file without its folders. */
function baseOf(file: string): string {
  return file.slice(Math.max(file.lastIndexOf("/"), file.lastIndexOf("\\")) + 1) || file;
}

/** Renders a period to the minute; a single day is written only once. */
function renderPeriod(from: number, to: number): Markup {
  const [day, minute] = readTime(from);
  const [lastDay, lastMinute] = readTime(to);
  const [first, last] = [minute, lastMinute].map((time) => time.slice(0, 5)) as [string, string];
  return day === lastDay
    ? html`${renderDay(day)}, ${first} to ${last} UTC`
    : html`${renderDay(day)} ${first} to ${renderDay(lastDay)} ${last} UTC`;
}

/** Renders a time in UTC, without the zone. */
export function renderTime(at: number): Markup {
  const [day, time] = readTime(at);
  return html`${renderDay(day)} ${time}`;
}

function readTime(at: number): [day: string, time: string] {
  return formatUtcTime(at).split(" ") as [string, string];
}

/** A day that does not break at a hyphen. */
function renderDay(day: string): Markup {
  return html`<span class="whole">${day}</span>`;
}

/** Renders the name of a policy. */
export function renderName({ name }: PolicyResult): Markup {
  return untrustedText(name, 60);
}

/** The name as plain text for a chart, truncated to `length` characters. */
export function shortName({ name }: PolicyResult, length: number): string {
  const characters = [...escapeUnseen(name.slice(0, 2 * length))];
  return characters.length > length
    ? `${characters.slice(0, length - 1).join("")}…`
    : characters.join("");
}

/** Renders the limits in words. */
export function renderLimits({ description }: PolicyResult): Markup {
  return untrustedText(description.text, 600);
}

/** Renders the limits as code. */
export function renderCode({ description }: PolicyResult): Markup {
  return html`<code>${untrustedText(description.code, 300)}</code>`;
}
