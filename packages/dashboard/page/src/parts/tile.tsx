import type { ComponentChildren, JSX } from "preact";

/** A large figure. */
export function Tile({
  label,
  value,
  unit,
  tone,
  href,
  children,
}: {
  label: string;
  /** Null if unknown. */
  value: string | null;
  unit?: string;
  tone?: "denied" | "degraded" | undefined;
  href?: string;
  children?: ComponentChildren;
}): JSX.Element {
  return (
    <div class={`tile ${tone ?? ""}`}>
      <dt>{href ? <a href={href}>{label}</a> : label}</dt>
      <dd>
        {value === null ? (
          <span class="figure unknown">unknown</span>
        ) : (
          <span class="figure">
            {value}
            {unit && <span class="unit"> {unit}</span>}
          </span>
        )}
        {children && <span class="below">{children}</span>}
      </dd>
    </div>
  );
}
