import type { JSX } from "preact";
import { useId, useState } from "preact/hooks";
import { parseDuration } from "../format/time.ts";

const CHOICES: readonly (readonly [string, number])[] = [
  ["10 minutes", 600_000],
  ["1 hour", 3_600_000],
  ["4 hours", 4 * 3_600_000],
  ["24 hours", 86_400_000],
  ["7 days", 7 * 86_400_000],
];

/** A field for a duration: a choice, a custom duration, or until it is removed (null). Undefined while it is invalid. */
export function DurationField({
  value,
  onChange,
  canLast,
}: {
  value: number | null | undefined;
  onChange: (ms: number | null | undefined) => void;
  canLast?: boolean;
}): JSX.Element {
  const [isCustom, setOwn] = useState(false);
  const [text, setText] = useState("");
  const id = useId();
  const choose = (chosen: string): void => {
    setOwn(chosen === "own");
    if (chosen === "own") onChange(parseDuration(text));
    else onChange(chosen === "last" ? null : Number(chosen));
  };
  return (
    <div class="field">
      <label for={id}>For how long</label>
      <div class="together">
        <select
          id={id}
          value={isCustom ? "own" : value === null ? "last" : String(value)}
          onChange={({ currentTarget }) => choose(currentTarget.value)}
        >
          {CHOICES.map(([title, ms]) => (
            <option key={ms} value={ms}>
              {title}
            </option>
          ))}
          <option value="own">another duration…</option>
          {canLast && <option value="last">until it is removed</option>}
        </select>
        {isCustom && (
          <input
            required
            aria-label="Duration, such as 90s, 15m, 2h or 3d"
            placeholder="90s, 15m, 2h, 3d"
            value={text}
            aria-invalid={text !== "" && value === undefined ? "true" : undefined}
            onInput={({ currentTarget }) => {
              setText(currentTarget.value);
              onChange(parseDuration(currentTarget.value));
            }}
          />
        )}
      </div>
    </div>
  );
}
