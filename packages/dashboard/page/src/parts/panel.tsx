import type { ComponentChildren, JSX } from "preact";
import { useId } from "preact/hooks";
import type { Failure } from "../client/failure.ts";

/** A part of a view, with its title and the actions on all of it. */
export function Panel({
  title,
  note,
  tools,
  children,
}: {
  title: string;
  note?: ComponentChildren;
  tools?: ComponentChildren;
  children: ComponentChildren;
}): JSX.Element {
  const id = useId();
  return (
    <section class="panel" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {tools && <div class="tools">{tools}</div>}
      </header>
      {note && <p class="note">{note}</p>}
      {children}
    </section>
  );
}

/** Shown instead of an empty list: the reason, and a next step. */
export function Empty({ children }: { children: ComponentChildren }): JSX.Element {
  return <div class="empty">{children}</div>;
}

/** A caveat about the figures. */
export function Notice({
  tone = "warn",
  title,
  children,
}: {
  tone?: "warn" | "bad" | "info";
  title?: string;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`notice ${tone}`} role={tone === "bad" ? "alert" : undefined}>
      {title && <strong>{title} </strong>}
      {children}
    </div>
  );
}

export type Tone = "plain" | "good" | "warn" | "bad" | "info";

/** A short label of a state. Its colour repeats the text. */
export function Badge({
  tone = "plain",
  children,
}: {
  tone?: Tone;
  children: ComponentChildren;
}): JSX.Element {
  return <span class={`badge ${tone}`}>{children}</span>;
}

/** A figure that is unknown, which is not the same as zero. */
export function Unknown({ why }: { why?: string }): JSX.Element {
  return (
    <span class="quiet" title={why}>
      unknown
    </span>
  );
}

/** A placeholder until the first response; nothing after a failure, which the top of the page explains. */
export function Loading({
  title,
  failure,
}: {
  title: string;
  failure: Failure | undefined;
}): JSX.Element {
  return (
    <>
      <h1>{title}</h1>
      {!failure && <p class="quiet">Loading…</p>}
    </>
  );
}
