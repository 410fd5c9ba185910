import type { JSX } from "preact";
import type { SubjectStatus } from "../../../../src/api.ts";
import { shortenLimit } from "../../format/subject.ts";
import { Name, ServerText, ShortTime } from "../../parts/text.tsx";

/**
 * `until 14:03:12 by the limit burst of login: 20 per 10 seconds for each client.` With `isLimiterKnown`, it does not repeat the
 * name of the limiter.
 */
export function DenialCause({
  status: { deniedBy, name, limits, blocks, until },
  isLimiterKnown,
}: {
  status: SubjectStatus;
  isLimiterKnown?: boolean;
}): JSX.Element {
  const limit =
    deniedBy?.kind === "limit" ? limits.find((row) => row.limit === deniedBy.limit) : undefined;
  const isManual = blocks.some((block) => block.limit === undefined);
  return (
    <>
      {until !== undefined && (
        <>
          until <ShortTime at={until} />{" "}
        </>
      )}
      by {deniedBy?.kind === "block" && `a block that ${isManual ? "an operator" : "a limit"} set`}
      {deniedBy?.kind === "denyList" && "the deny list"}
      {deniedBy?.kind === "limit" &&
        (deniedBy.limit === undefined ? (
          "a limit"
        ) : (
          <>
            the limit <Name value={deniedBy.limit} />
          </>
        ))}
      {!isLimiterKnown && deniedBy?.kind !== "denyList" && (
        <>
          {deniedBy?.kind === "block" ? " in " : " of "}
          <Name value={name} />
        </>
      )}
      {limit && (
        <>
          : <ServerText text={shortenLimit(limit.description, limit.limit)} />
        </>
      )}
      .
    </>
  );
}
