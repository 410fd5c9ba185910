import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { SubjectByDimension } from "../../../src/api.ts";
import { useServerNow } from "../client/server-clock.ts";
import { formatSubject, truncateVisible } from "../format/text.ts";
import {
  formatDuration,
  formatFullTime,
  formatRelativeTime,
  formatShortTime,
  formatZone,
  withLocalTimes,
} from "../format/time.ts";
import { hrefOf } from "../route.ts";

const MAX_TITLE_LENGTH = 2_000;

/** The maximum length of a name; styles may truncate it further. */
const MAX_NAME_LENGTH = 240;

/**
 * A name from an untrusted source, on one line: hidden characters are made visible, and text that does not fit is in the title.
 */
export function Name({ value, plain }: { value: string; plain?: boolean }): JSX.Element {
  const text = value === "" ? "(empty)" : truncateVisible(value, MAX_NAME_LENGTH);
  return (
    <bdi class={plain ? "name plain" : "name"} title={truncateVisible(value, MAX_TITLE_LENGTH)}>
      {text}
    </bdi>
  );
}

/** A limiter's name, as a link to its view. */
export function LimiterLink({
  name,
  span,
}: {
  name: string;
  span?: string | undefined;
}): JSX.Element {
  return (
    <a href={hrefOf("limiter", { name, span })}>
      <Name value={name} />
    </a>
  );
}

/** A subject's text, as a link to the state of this client: in one limiter, or in all. */
export function SubjectLink({
  subject,
  limiter,
}: {
  subject: string;
  limiter?: string;
}): JSX.Element {
  return (
    <a href={hrefOf("subject", { subject, limiter })}>
      <Name value={subject} />
    </a>
  );
}

/** The maximum length of a text; its title has the rest. */
const MAX_TEXT_LENGTH = 400;

/** A text from the server, which may contain names that clients have chosen. */
export function ServerText({ text }: { text: string }): JSX.Element {
  const title = text.length > MAX_TEXT_LENGTH ? truncateVisible(text, MAX_TITLE_LENGTH) : undefined;
  return (
    <bdi class="words" title={title}>
      {truncateVisible(text, MAX_TEXT_LENGTH)}
    </bdi>
  );
}

/** The state before or after an action, from the server: with its line breaks, and its times in the visitor's zone. */
export function ServerLines({ text }: { text: string }): JSX.Element {
  const now = useServerNow();
  return (
    <>
      {withLocalTimes(text, now)
        .split("\n")
        .map((line, i) => (
          <div key={i} class="words">
            {line === "" ? "\u00a0" : <ServerText text={line} />}
          </div>
        ))}
    </>
  );
}

export function Subject({ subject }: { subject: SubjectByDimension | undefined }): JSX.Element {
  if (subject === undefined) return <>all subjects</>;
  return <Name value={formatSubject(subject)} />;
}

/** The zone of all times on the page: the visitor's. */
export function Zone(): JSX.Element {
  const now = useServerNow();
  return (
    <span class="quiet zone" title="All times are in the time zone of your browser">
      {formatZone(now)}
    </span>
  );
}

/** A time, as brief as is unambiguous, with its date and zone in the title. */
export function ShortTime({ at }: { at: number | null | undefined }): JSX.Element {
  const now = useServerNow();
  if (at === null || at === undefined) return <span class="quiet">unknown</span>;
  return <TimeElement at={at}>{formatShortTime(at, now)}</TimeElement>;
}

/** The time at which something ends, rounded up to a second as the server's texts are: at that time it is over. */
export function ShortEnd({ at }: { at: number }): JSX.Element {
  return <ShortTime at={Math.ceil(at / 1_000) * 1_000} />;
}

/** The time since a moment, such as `3 s ago`. */
export function TimeAgo({ at }: { at: number | null }): JSX.Element {
  const now = useServerNow();
  if (at === null) return <span class="quiet">unknown</span>;
  return <TimeElement at={at}>{formatRelativeTime(Math.min(at, now), now)}</TimeElement>;
}

/** `until 14:03:12, in 4 min`; `until it is removed`. */
export function EndTime({ at }: { at: number | null }): JSX.Element {
  const now = useServerNow();
  if (at === null) return <>until it is removed</>;
  if (at <= now) return <>ended</>;
  return (
    <>
      until <ShortEnd at={at} />
      <span class="quiet">, {formatDuration(at - now)} left</span>
    </>
  );
}

/** A time as text, with its date and zone in the title. The title is set after the paint, because finding a zone's name is slow. */
function TimeElement({ at, children }: { at: number; children: string }): JSX.Element {
  const element = useRef<HTMLTimeElement>(null);
  useEffect(() => {
    if (element.current !== null) element.current.title = formatFullTime(at);
  }, [at]);
  return (
    <time ref={element} dateTime={isoOf(at)}>
      {children}
    </time>
  );
}

function isoOf(at: number): string | undefined {
  return Math.abs(at) <= 8.64e15 ? new Date(at).toISOString() : undefined;
}
