import { MAX_BODY_BYTES } from "./dialects/read-body.ts";

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
  // An opaque response, with status 0, cannot be made again.
  if (response.body === null || response.status < 200) {
    onEnd();
    return response;
  }
  const reader = response.body.getReader();
  let idle: NodeJS.Timeout | undefined;
  let isOver = false;
  const end = (): void => {
    clearTimeout(idle);
    if (isOver) return;
    isOver = true;
    onEnd();
  };
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
            end();
            controller.close();
          } else {
            waitForReader();
            controller.enqueue(value);
          }
        } catch (error) {
          end();
          controller.error(error);
        }
      },
      async cancel(reason) {
        end();
        await reader.cancel(reason);
      },
    },
    // Nothing is read ahead: the body ends when the application has read it.
    { highWaterMark: 0 },
  );
  waitForReader();
  return likeResponse(new Response(body, response), response);
}

/** Gives a made response, and its clones, what only `fetch` can set. */
function likeResponse(made: Response, { url, type, redirected }: Response): Response {
  Object.defineProperties(made, {
    url: { value: url },
    type: { value: type },
    redirected: { value: redirected },
    clone: {
      value: () => likeResponse(Response.prototype.clone.call(made), made),
    },
  });
  return made;
}

/** The text of a response's body, read from a clone; undefined if it is longer than `MAX_BODY_BYTES`, or cannot be read. */
export async function readClone(response: Response): Promise<string | undefined> {
  if (Number(response.headers.get("content-length") ?? 0) > MAX_BODY_BYTES) return undefined;
  const reader = response.clone().body?.getReader();
  if (reader === undefined) return undefined;
  const chunks: Uint8Array[] = [];
  let size = 0;
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return Buffer.concat(chunks).toString();
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
  }
}
