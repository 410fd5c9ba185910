import type { ComponentChildren, JSX } from "preact";

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
