import type { JSX } from "preact";
import type { DenialCount } from "../../../../src/api.ts";
import { Name } from "../../parts/text.tsx";

/** The cause of a part of a limiter's denials, within a sentence. */
export function DenialSource({ cause }: { cause: DenialCount["cause"] }): JSX.Element {
  switch (cause.kind) {
    case "limit":
      return (
        <>
          the limit <Name value={cause.limit} />
        </>
      );
    case "block":
      return <>blocks</>;
    case "otherLimits":
      return <>other limits</>;
  }
}
