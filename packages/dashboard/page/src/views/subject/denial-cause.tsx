import type { JSX } from "preact";
import type { SubjectStatus } from "../../../../src/api.ts";
import { shortenLimit } from "../../format/subject.ts";
import { Name, ServerText, ShortTime } from "../../parts/text.tsx";

/** "`burst` of `login` (20 per 10 seconds) until 14:03:12."; without the limiter if it is clear from the context. */
export function DenialCause({
  one: status,
  isInPlace,
}: {
  one: SubjectStatus;
  isInPlace?: boolean;
}): JSX.Element {
  const { deniedBy, name, limits, blocks, until } = status;
  const limit = limits.find((row) => row.limit === deniedBy);
  const isByHand = blocks.some(({ setAs }) => setAs === "hand");
  const isOnList = deniedBy === "deny list";
  return (
    <>
      {deniedBy === "block" && `a block ${isByHand ? "set by hand" : "that a limit set"}`}
      {isOnList && "the deny list"}
      {deniedBy !== "block" && !isOnList && <Name of={deniedBy ?? "a limit"} />}
      {!isInPlace && !isOnList && (
        <>
          {deniedBy === "block" ? " in " : " of "}
          <Name of={name} />
        </>
      )}
      {limit && (
        <>
          {" "}
          (<ServerText of={shortenLimit(limit.description, limit.limit)} />)
        </>
      )}
      {until !== undefined && (
        <>
          {" "}
          until <ShortTime at={until} />
        </>
      )}
      .
    </>
  );
}
