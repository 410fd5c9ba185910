import type { LoggedRequest } from "./logged-request.ts";

type Requests = AsyncGenerator<readonly LoggedRequest[]>;

/** A source with the requests that were read from it but not yet yielded. */
interface SourceCursor {
  readonly source: Requests;
  requests: readonly LoggedRequest[];
  at: number;
}

/** Merges sorted sources; equal times keep the order of the sources. Ends all sources if it is not read to the end. */
export async function* mergeRequests(sources: readonly Requests[]): Requests {
  const [only] = sources;
  if (sources.length === 1 && only !== undefined) {
    yield* only;
    return;
  }
  const heads: SourceCursor[] = sources.map((source) => ({ source, requests: [], at: 0 }));
  try {
    for (const head of [...heads]) await readNext(head, heads);
    while (heads.length > 0) {
      const first = findEarliest(heads);
      yield takeBeforeOthers(first, heads);
      if (first.at === first.requests.length) await readNext(first, heads);
    }
  } finally {
    for (const { source } of heads) await source.return(undefined);
  }
}

/** Reads the next batch; removes a source that has ended. */
async function readNext(head: SourceCursor, heads: SourceCursor[]): Promise<void> {
  do {
    const next = await head.source.next();
    if (next.done) {
      heads.splice(heads.indexOf(head), 1);
      return;
    }
    head.requests = next.value;
    head.at = 0;
  } while (head.requests.length === 0);
}

function findEarliest(heads: readonly SourceCursor[]): SourceCursor {
  let first = heads[0] as SourceCursor;
  for (const head of heads) {
    if (timeOf(head) < timeOf(first)) first = head;
  }
  return first;
}

/** Takes the requests of the earliest source that precede those of all other sources. */
function takeBeforeOthers(
  first: SourceCursor,
  heads: readonly SourceCursor[],
): readonly LoggedRequest[] {
  const index = heads.indexOf(first);
  // Of equal times, those of earlier sources go first.
  const before = earliestTimeOf(heads.slice(0, index));
  const behind = earliestTimeOf(heads.slice(index + 1));
  const from = first.at;
  const { requests } = first;
  let at = from;
  while (at < requests.length) {
    const { time } = requests[at] as LoggedRequest;
    if (time >= before || time > behind) break;
    at += 1;
  }
  first.at = at;
  return from === 0 && at === requests.length ? requests : requests.slice(from, at);
}

function earliestTimeOf(heads: readonly SourceCursor[]): number {
  return Math.min(...heads.map(timeOf));
}

function timeOf({ requests, at }: SourceCursor): number {
  return (requests[at] as LoggedRequest).time;
}
