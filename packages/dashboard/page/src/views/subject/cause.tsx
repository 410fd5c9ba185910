import type { JSX } from "preact";
import type { SubjectInLimiter } from "../../../../src/api.ts";
import { limitInWords } from "../../format/subject.ts";
import { Name, When, Words } from "../../parts/text.tsx";

/** "`burst` of `login` (20 per 10 seconds) until 14:03:12."; without the limiter if it is clear from the context. */
export function Cause({
  one,
  isInPlace,
}: {
  one: SubjectInLimiter;
  isInPlace?: boolean;
}): JSX.Element {
  const { deniedBy, name, limits, blocked, until } = one;
  const limit = limits.find((row) => row.limit === deniedBy);
  const isByHand = blocked.some(({ setAs }) => setAs === "hand");
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
          (<Words of={limitInWords(limit.words, limit.limit)} />)
        </>
      )}
      {until !== undefined && (
        <>
          {" "}
          until <When at={until} />
        </>
      )}
      .
    </>
  );
}
