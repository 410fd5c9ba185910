import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { SubjectOf } from "../../../src/api.ts";
import { subjectInWords } from "../format/subject.ts";
import { formatFromNow, formatFully, formatLength, formatMoment } from "../format/time.ts";
import { visibleStart } from "../format/visible.ts";
import { useNow } from "./use-now.ts";

/** Longer texts are cut for their titles. */
const LONGEST_TITLE = 2_000;

/** Longer names are cut, before styles cut what does not fit. */
const LONGEST_NAME = 240;

/**
 * A name from an untrusted source, on one line: hidden characters are made visible, and text that does not fit is in the title.
 */
export function Name({ of, plain }: { of: string; plain?: boolean }): JSX.Element {
  const text = of === "" ? "(empty)" : visibleStart(of, LONGEST_NAME);
  return (
    <bdi class={plain ? "name plain" : "name"} title={visibleStart(of, LONGEST_TITLE)}>
      {text}
    </bdi>
  );
}

/** Longer sentences are cut, with the rest in their titles. */
const LONGEST_WORDS = 400;

/** Sentences from the server, which may contain names. */
export function Words({ of }: { of: string }): JSX.Element {
  const title = of.length > LONGEST_WORDS ? visibleStart(of, LONGEST_TITLE) : undefined;
  return (
    <bdi class="words" title={title}>
      {visibleStart(of, LONGEST_WORDS)}
    </bdi>
  );
}

/** The same on separate lines. */
export function Lines({ of }: { of: string }): JSX.Element {
  return (
    <>
      {of.split("\n").map((line, i) => (
        <div key={i} class="words">
          {line === "" ? "\u00a0" : <Words of={line} />}
        </div>
      ))}
    </>
  );
}

export function Subject({ of }: { of: SubjectOf | undefined }): JSX.Element {
  if (of === undefined) return <>all subjects</>;
  return <Name of={subjectInWords(of)} />;
}

/** A moment, as brief as is unambiguous, with its date and zone in the title. */
export function When({ at }: { at: number | null | undefined }): JSX.Element {
  const now = useNow();
  if (at === null || at === undefined) return <span class="quiet">unknown</span>;
  return <Moment at={at}>{formatMoment(at, now)}</Moment>;
}

/** How long ago. */
export function Ago({ at }: { at: number | null }): JSX.Element {
  const now = useNow();
  if (at === null) return <span class="quiet">unknown</span>;
  return <Moment at={at}>{formatFromNow(Math.min(at, now), now)}</Moment>;
}

/** `until 14:03:12, in 4 min`; `until it is removed`. */
export function Until({ at }: { at: number | null }): JSX.Element {
  const now = useNow();
  if (at === null) return <>until it is removed</>;
  if (at <= now) return <>ended</>;
  return (
    <>
      until <When at={at} />
      <span class="quiet">, {formatLength(at - now)} left</span>
    </>
  );
}

/** Words for a moment, with its date and zone in the title, which is written after the paint: zones' names are slow to find. */
function Moment({ at, children }: { at: number; children: string }): JSX.Element {
  const element = useRef<HTMLTimeElement>(null);
  useEffect(() => {
    if (element.current !== null) element.current.title = formatFully(at);
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
