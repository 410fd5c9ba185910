import { MAX_BODY_BYTES, MAX_BODY_MS } from "./dialects/read-body.ts";

/** A response whose body calls back when it ends. */
interface HeldBody {
  /** Called once: when the body has been read, was cancelled, failed, or nobody has read from it for `idleMs`. */
  readonly onEnd: () => unknown;
  readonly idleMs: number;
}

/**
 * Returns a response like this one that calls `onEnd` once its body has ended. A body that nobody reads any more ends after
 * `idleMs`, so a dropped response does not hold its slot for ever; what is read later is still delivered.
 */
export function withBodyEnd(response: Response, { onEnd, idleMs }: HeldBody): Response {
  const { body: given, headers } = response;
  // A locked body is read by the application: in its `settle`, or in its `fetch`.
  if (given === null || given.locked || headers.get("content-length") === "0") {
    onEnd();
    return response;
  }
  const reader = given.getReader();
  let idle: NodeJS.Timeout | undefined;
  let isOver = false;
  const end = (): void => {
    clearTimeout(idle);
    if (isOver) return;
    isOver = true;
    onEnd();
  };
  // Also when the signal of the request aborts while nobody reads.
  reader.closed.then(end, end);
  const waitForReader = (): void => {
    if (!isOver) idle = setTimeout(end, idleMs).unref();
  };
  const body = new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        clearTimeout(idle);
        try {
          const { done, value } = await reader.read();
          if (done) {
            controller.close();
          } else {
            waitForReader();
            controller.enqueue(value);
          }
        } catch (error) {
          controller.error(error);
        }
      },
      cancel: (reason) => reader.cancel(reason),
    },
    // Nothing is read ahead: the body ends when the application has read it.
    { highWaterMark: 0 },
  );
  waitForReader();
  return likeResponse(new Response(body, { headers }), response);
}

/** Gives a made response, and its clones, what only `fetch` can set, such as a status above 599. */
function likeResponse(made: Response, given: Response): Response {
  const { url, type, redirected, status, statusText, ok } = given;
  Object.defineProperties(made, {
    url: { value: url },
    type: { value: type },
    redirected: { value: redirected },
    status: { value: status },
    statusText: { value: statusText },
    ok: { value: ok },
    clone: {
      value: () => likeResponse(Response.prototype.clone.call(made), made),
    },
  });
  return made;
}

/**
 * The text of a response's body, read from a clone; undefined if it is longer than `MAX_BODY_BYTES`, takes longer than `MAX_BODY_MS`,
 * or cannot be read.
 */
export async function readClone(response: Response): Promise<string | undefined> {
  const isLong = Number(response.headers.get("content-length") ?? 0) > MAX_BODY_BYTES;
  if (isLong || response.body?.locked !== false || response.bodyUsed) return undefined;
  const reader = response.clone().body?.getReader();
  if (reader === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    void reader.cancel().catch(() => {});
  }, MAX_BODY_MS);
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return isLate ? undefined : Buffer.concat(chunks).toString();
      size += value.length;
      if (size > MAX_BODY_BYTES) {
        void reader.cancel().catch(() => {});
        return undefined;
      }
      chunks.push(value);
    }
  } catch {
    // The application gets the error when it reads the body.
    return undefined;
  } finally {
    clearTimeout(timer);
  }
}
