import type { JSX } from "preact";
import { When, Words } from "../../parts/text.tsx";
import { useNow } from "../../parts/use-now.ts";
import { formatLength } from "../../words/time.ts";

/** When something ends, with the time left. */
export function Ends({ at }: { at: number | null }): JSX.Element {
  const now = useNow();
  if (at === null) return <span class="quiet">when removed</span>;
  if (at <= now) return <span class="quiet">ended</span>;
  return (
    <>
      in {formatLength(at - now)}
      <div class="quiet">
        at <When at={at} />
      </div>
    </>
  );
}

export function Why({ reason }: { reason: string | undefined }): JSX.Element {
  return reason ? <Words of={reason} /> : <span class="quiet">–</span>;
}
