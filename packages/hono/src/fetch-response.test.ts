import { setImmediate as turn } from "node:timers/promises";
import { watchResponse } from "@headgate/core/internal-http";
import type { Context, MiddlewareHandler } from "hono";
import { Hono } from "hono";
import { timeout } from "hono/timeout";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { FetchResponse } from "./fetch-response.ts";

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
});
afterEach(() => {
  vi.useRealTimers();
});

const ENDED = (status: number): readonly string[] => [`ended with ${status}`, "sent"];
const DISCONNECTED: readonly string[] = ["disconnected"];
const FOREVER: () => Promise<never> = () => new Promise(() => {});

interface Application {
  readonly handle: (c: Context) => Response | Promise<Response>;
  readonly outer?: MiddlewareHandler;
  readonly inner?: MiddlewareHandler;
}

const pass: MiddlewareHandler = (_, next) => next();

/** Sends a request. `events` notes the end of its response. */
async function send({ handle, outer = pass, inner = pass }: Application, init: RequestInit = {}) {
  const events: string[] = [];
  const app = new Hono();
  app.use(outer);
  app.use(async (c, next) => {
    const response = new FetchResponse(c);
    watchResponse(response, {
      onEnded: (status) => events.push(`ended with ${status}`),
      onSent: () => events.push("sent"),
      onDisconnected: () => events.push("disconnected"),
    });
    try {
      await response.run(next);
    } finally {
      response.markReturned();
    }
  });
  app.use(inner);
  app.get("/", handle);
  const answer = await app.request("/", init);
  await turn();
  return { answer, events };
}

const HEAD = { method: "HEAD" };
const hello = (c: Context): Response => c.text("hello");

/** A response of two chunks, the second of which comes when asked for. */
const twoChunks = (): Response => {
  const chunks = ["one", "two"].map((text) => new TextEncoder().encode(text));
  return new Response(
    new ReadableStream({
      pull(controller) {
        const chunk = chunks.shift();
        if (chunk === undefined) controller.close();
        else controller.enqueue(chunk);
      },
    }),
  );
};

test("a response ends when its body has been read to the end, however long that takes", async () => {
  const { answer, events } = await send({ handle: twoChunks });
  const reader = (answer.body as ReadableStream).getReader();
  await reader.read();
  vi.advanceTimersByTime(3_600_000);
  await turn();
  expect(events).toEqual([]);
  while (!(await reader.read()).done);
  await turn();
  expect(events).toEqual(ENDED(200));
});

test.each<[string, RequestInit, Application["handle"], number]>([
  ["the response to a HEAD request", HEAD, hello, 200],
  ["a failed response to a HEAD request", HEAD, (c) => c.text("wrong", 401), 401],
  ["a response without a body", {}, (c) => c.body(null, 204), 204],
])("%s ends without being read", async (_, init, handle, status) => {
  expect((await send({ handle }, init)).events).toEqual(ENDED(status));
});

test("a body is not asked for a chunk before somebody reads it", async () => {
  let pulls = 0;
  const source = new ReadableStream(
    {
      pull: () => {
        pulls += 1;
      },
    },
    { highWaterMark: 0 },
  );
  await send({ handle: () => new Response(source) });
  expect(pulls).toBe(0);
});

describe("outer middleware", () => {
  const replacing =
    (replace: (c: Context) => Response): MiddlewareHandler =>
    async (c, next) => {
      await next();
      c.res = replace(c);
    };

  test("that drops a body ends the response, with the new status", async () => {
    const outer = replacing(() => new Response(null, { status: 304 }));
    expect((await send({ outer, handle: hello })).events).toEqual(ENDED(304));
  });

  test("that replaces a body is awaited until its own has been read", async () => {
    const outer = replacing(() => new Response("sorry", { status: 404 }));
    const { answer, events } = await send({ outer, handle: hello });
    expect(events).toEqual([]);
    expect(await answer.text()).toBe("sorry");
    await turn();
    expect(events).toEqual(ENDED(404));
  });

  test.each<[string, (c: Context) => ReadableStream | null]>([
    ["passes a body on", ({ res }) => res.body],
    [
      "transforms a body",
      ({ res }) => (res.body as ReadableStream).pipeThrough(new TransformStream()),
    ],
  ])("that %s ends the response when that has been read", async (_, bodyOf) => {
    const outer = replacing((c) => new Response(bodyOf(c), { status: 201 }));
    const { answer, events } = await send({ outer, handle: twoChunks });
    expect(events).toEqual([]);
    expect(await answer.text()).toBe("onetwo");
    await turn();
    expect(events).toEqual(ENDED(201));
  });

  test("that replaces a response without a body at once gives it its status", async () => {
    const outer = replacing(() => new Response("a page of its own", { status: 200 }));
    const { events } = await send({ outer, handle: (c) => c.text("nobody", 404) }, HEAD);
    expect(events).toEqual(ENDED(200));
  });

  test.each<[string, (c: Context) => Promise<void>]>([
    [
      "cancels a body before it replaces it",
      async (c) => {
        await c.res.body?.cancel();
        c.res = new Response("other", { status: 404 });
      },
    ],
    [
      "cancels a body after it has replaced it",
      async (c) => {
        const { body } = c.res;
        c.res = new Response("other", { status: 404 });
        await body?.cancel();
      },
    ],
  ])("that %s ends the response when the new one has been read", async (_, replace) => {
    const outer: MiddlewareHandler = async (c, next) => {
      await next();
      await replace(c);
    };
    const { answer, events } = await send({ outer, handle: twoChunks });
    expect(events).toEqual([]);
    await answer.text();
    await turn();
    expect(events).toEqual(ENDED(404));
  });

  test("that throws after the handler ends the response when the error has been read", async () => {
    const outer = replacing(() => {
      throw new Error("not saved");
    });
    vi.spyOn(console, "error").mockReturnValue();
    const { answer, events } = await send({ outer, handle: hello });
    await answer.text();
    await turn();
    expect(events).toEqual(ENDED(500));
  });

  test.each<[string, RequestInit]>([
    ["GET", {}],
    ["HEAD", HEAD],
  ])(
    "that answers a %s request first ends the response once the handler has returned",
    async (_, init) => {
      let finish = (): void => {};
      const finished = new Promise<void>((resolve) => {
        finish = resolve;
      });
      const handle: Application["handle"] = (c) => finished.then(() => hello(c));
      const sending = send({ outer: timeout(10), handle }, init);
      await vi.advanceTimersByTimeAsync(10);
      const { answer, events } = await sending;
      expect(answer.status).toBe(504);
      await answer.text();
      await turn();
      expect(events).toEqual([]);
      finish();
      await turn();
      await turn();
      expect(events).toEqual(ENDED(504));
    },
  );

  test("that answers first gives up on a handler that never returns after 30 seconds", async () => {
    const sending = send({ outer: timeout(10), handle: FOREVER });
    await vi.advanceTimersByTimeAsync(10);
    const { answer, events } = await sending;
    await answer.text();
    vi.advanceTimersByTime(29_999);
    expect(events).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(events).toEqual(DISCONNECTED);
  });
});

test("inner middleware that reads a body and replaces it decides the status", async () => {
  const inner: MiddlewareHandler = async (c, next) => {
    await next();
    const text = await c.res.text();
    await turn();
    c.res = new Response(text, { status: 401 });
  };
  const { answer, events } = await send({ inner, handle: hello });
  expect(events).toEqual([]);
  await answer.text();
  await turn();
  expect(events).toEqual(ENDED(401));
});

test("a handler that throws something other than an error ends the response", async () => {
  const events: string[] = [];
  const app = new Hono().use(async (c, next) => {
    const response = new FetchResponse(c);
    watchResponse(response, { onEnded: (status) => events.push(`ended with ${status}`) });
    try {
      await response.run(next);
    } finally {
      response.markReturned();
    }
  });
  app.get("/", () => Promise.reject("no error"));
  await expect((async () => app.request("/"))()).rejects.toBe("no error");
  await turn();
  expect(events).toEqual(["ended with 500"]);
});

describe("a client has disconnected", () => {
  test("if nobody has begun to read the body after 30 seconds", async () => {
    const { events } = await send({ handle: hello });
    vi.advanceTimersByTime(29_999);
    expect(events).toEqual([]);
    vi.advanceTimersByTime(1);
    expect(events).toEqual(DISCONNECTED);
  });

  test("if the body is cancelled", async () => {
    const { answer, events } = await send({ handle: twoChunks });
    await answer.body?.cancel();
    await turn();
    expect(events).toEqual(DISCONNECTED);
  });

  test("if the body fails", async () => {
    const broken = new ReadableStream({ pull: () => Promise.reject(new Error("broken")) });
    const { answer, events } = await send({ handle: () => new Response(broken) });
    await expect(answer.text()).rejects.toThrow("broken");
    await turn();
    expect(events).toEqual(DISCONNECTED);
  });

  test("if the signal aborts before the body has been read", async () => {
    const client = new AbortController();
    const { events } = await send({ handle: hello }, { signal: client.signal });
    client.abort();
    expect(events).toEqual(DISCONNECTED);
  });

  test("if the signal aborts while the handler runs, whose return then ends the response", async () => {
    const { events } = await send({ handle: hello }, { signal: AbortSignal.abort() });
    expect(events).toEqual(["disconnected", "ended with 200"]);
  });

  test("not if the signal aborts after a complete response, as Deno's does", async () => {
    const client = new AbortController();
    const outer: MiddlewareHandler = async (_, next) => {
      await next();
      client.abort();
    };
    const { events } = await send({ outer, handle: hello }, { ...HEAD, signal: client.signal });
    expect(events).toEqual(ENDED(200));
  });
});

test("a response that outer middleware gave before anything waited for its end ends at once", async () => {
  const events: string[] = [];
  const responses: FetchResponse[] = [];
  const app = new Hono().use(timeout(10), (c) => {
    responses.push(new FetchResponse(c));
    return FOREVER();
  });
  const sending = app.request("/");
  await vi.advanceTimersByTimeAsync(10);
  expect((await sending).status).toBe(504);
  const response = responses[0] as FetchResponse;
  watchResponse(response, { onEnded: (status) => events.push(`ended with ${status}`) });
  await turn();
  expect(events).toEqual(["ended with 504"]);
});

test("a response that nothing waits for is left alone", async () => {
  const { body } = twoChunks();
  const contexts: Context[] = [];
  const responses: FetchResponse[] = [];
  const app = new Hono().use(async (c, next) => {
    const response = new FetchResponse(c);
    contexts.push(c);
    responses.push(response);
    await response.run(next);
    response.markReturned();
  });
  app.get("/", () => new Response(body));
  expect((await app.request("/")).body).toBe(body);
  expect(Object.hasOwn(contexts[0] as Context, "res")).toBe(false);
  await turn();
  expect(responses[0]?.writableEnded).toBe(false);
});

test("a body is not replaced once nothing waits for its end any more", async () => {
  const { body } = twoChunks();
  const app = new Hono().use(async (c, next) => {
    const response = new FetchResponse(c);
    watchResponse(response, {})();
    const { set } = Object.getOwnPropertyDescriptor(c, "res") ?? {};
    watchResponse(response, {})();
    expect(Object.getOwnPropertyDescriptor(c, "res")?.set).toBe(set);
    await response.run(next);
    response.markReturned();
  });
  app.get("/", () => new Response(body));
  expect((await app.request("/")).body).toBe(body);
});
