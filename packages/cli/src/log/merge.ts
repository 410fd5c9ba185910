import type { LoggedRequest } from "./logged-request.ts";

type Requests = AsyncGenerator<readonly LoggedRequest[]>;

/** A log of which some requests have been read, and not all of them have gone. */
interface Head {
  readonly source: Requests;
  requests: readonly LoggedRequest[];
  at: number;
}

/** Merges requests that are in order each; equal times in the order of the sources. Ends what it has begun when it is not read to the end. */
export async function* merge(sources: readonly Requests[]): Requests {
  const [only] = sources;
  if (sources.length === 1 && only !== undefined) {
    yield* only;
    return;
  }
  const heads: Head[] = sources.map((source) => ({ source, requests: [], at: 0 }));
  try {
    for (const head of [...heads]) await fill(head, heads);
    while (heads.length > 0) {
      const first = earliest(heads);
      yield takeUpTo(first, heads);
      if (first.at === first.requests.length) await fill(first, heads);
    }
  } finally {
    for (const { source } of heads) await source.return(undefined);
  }
}

/** Reads on; takes out a source that has ended. */
async function fill(head: Head, heads: Head[]): Promise<void> {
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

function earliest(heads: readonly Head[]): Head {
  let first = heads[0] as Head;
  for (const head of heads) {
    if (timeOf(head) < timeOf(first)) first = head;
  }
  return first;
}

/** The requests of the earliest source that no other one comes before. */
function takeUpTo(first: Head, heads: readonly Head[]): readonly LoggedRequest[] {
  const place = heads.indexOf(first);
  // Of equal times, those of sources in front go first.
  const before = timesOf(heads.slice(0, place));
  const behind = timesOf(heads.slice(place + 1));
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

function timesOf(heads: readonly Head[]): number {
  return Math.min(...heads.map(timeOf));
}

function timeOf({ requests, at }: Head): number {
  return (requests[at] as LoggedRequest).time;
}
