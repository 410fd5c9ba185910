import { createReadStream } from "node:fs";
import type { ServerResponse } from "node:http";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { PassThrough, Readable } from "node:stream";
import { setTimeout as after } from "node:timers/promises";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { BODY_HEADERS, DeniedResponse, runOnDenied } from "./denied-response.ts";

type OnDenied = (res: ServerResponse, denied: DeniedResponse) => unknown;

interface Denial {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  /** What was reported. */
  readonly late: readonly unknown[];
  /** What `runOnDenied` rejected with. */
  readonly failure: unknown;
}

const HEADGATE = "[Headgate]";
const NO_FILE = "/no/such/file";

/** Has a request answered by `onDenied`, and else by Headgate; `before` is middleware. Rejects where no whole answer arrives. */
async function deny(
  onDenied: OnDenied,
  before?: (res: ServerResponse) => void,
  late: unknown[] = [],
): Promise<Denial> {
  let failure: unknown;
  async function answerRequest(res: ServerResponse): Promise<void> {
    before?.(res);
    res.statusCode = 429;
    const denied = new DeniedResponse(
      res,
      (error) => late.push(error),
      () => {},
    );
    try {
      await runOnDenied(denied, () => onDenied(res, denied));
    } catch (error) {
      failure = error;
    }
    if (!denied.hasBegun) res.end(HEADGATE);
  }
  const server = createServer((_, res) => void answerRequest(res));
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const signal = AbortSignal.timeout(20_000);
  const answer = await fetch(`http://127.0.0.1:${port}`, { redirect: "manual", signal });
  const text = await answer.text();
  // What is late must have its chance.
  await after(15);
  return { status: answer.status, headers: answer.headers, text, late, failure };
}

/** Middleware that keeps an answer back until some time after its end, as one that saves a session does. */
function holdEnd(res: ServerResponse): void {
  const end = res.end.bind(res) as (...args: unknown[]) => unknown;
  res.end = (...args: unknown[]) => {
    setTimeout(() => end(...args), 8);
    return res;
  };
}

/** Middleware that keeps what is written back until the end, as compression does. */
function holdWrites(res: ServerResponse): void {
  const parts: unknown[] = [];
  const end = res.end.bind(res) as (text: string) => ServerResponse;
  res.write = (part: unknown) => parts.push(part) > 0;
  res.end = (part?: unknown) => end([...parts, part].join(""));
}

/** Begins an answer, and ends it later. */
function writeSlowly(res: ServerResponse): void {
  res.write("mi");
  setTimeout(() => res.end("ne"), 5);
}

describe("a response of the application to a denied request", () => {
  test.each<[string, OnDenied]>([
    ["is sent at once", (res) => res.end("mine")],
    ["is begun, and ended later", writeSlowly],
    [
      "has sent its headers, and ends later",
      (res) => {
        res.flushHeaders();
        setTimeout(() => res.end("mine"), 5);
      },
    ],
    ["is piped", (res) => void Readable.from(["mi", "ne"]).pipe(res)],
    [
      "is expected, when something else came to nothing",
      (res, denied) => {
        const [first, second] = [denied.addPending(), denied.addPending()];
        setTimeout(first, 2);
        setTimeout(() => second(void res.end("mine")), 5);
      },
    ],
    [
      "is expected, when something else came to nothing and says so twice",
      (res, denied) => {
        const [first, second] = [denied.addPending(), denied.addPending()];
        first();
        first();
        setTimeout(() => second(void res.end("mine")), 5);
      },
    ],
  ])("the application's response is sent if it %s", async (_, onDenied) => {
    const { status, text, late, failure } = await deny(onDenied);
    expect([status, text, late, failure]).toEqual([429, "mine", [], undefined]);
  });

  test("the application's response is sent if middleware holds it back", async () => {
    expect(await deny((res) => res.end("mine"), holdEnd)).toMatchObject({ text: "mine", late: [] });
    expect(await deny(writeSlowly, holdWrites)).toMatchObject({ text: "mine", late: [] });
  });

  test("a response counts as begun before it has ended", async () => {
    const source = new PassThrough();
    let begin = (): void => {};
    const hasBegun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const answer = deny((res, denied) => {
      source.pipe(res);
      void denied.waitForResponse().then(begin);
    });
    source.write("mi");
    // For ever, if it were known only when the rest has come.
    await hasBegun;
    source.end("ne");
    expect((await answer).text).toBe("mine");
  });

  test("a response that middleware holds back is sent with the status and headers it ended with", async () => {
    const { status, headers, text, late } = await deny((res) => {
      res.setHeader("x-mine", "1");
      res.end("mine");
      // Before any timer, and so before the end that is kept back.
      setImmediate(() => {
        res.statusCode = 200;
        res.setHeader("x-mine", "2");
        for (const name of BODY_HEADERS) res.setHeader(name, "3");
        res.write("late");
        res.end("late");
      });
    }, holdEnd);
    expect([status, headers.get("x-mine"), text]).toEqual([429, "1", "mine"]);
    expect(BODY_HEADERS.filter((name) => headers.has(name))).toEqual([]);
    expect(late).toHaveLength(2);
  });
});

describe("Headgate's response to a denied request", () => {
  test.each<[string, OnDenied]>([
    ["nothing is begun", () => {}],
    ["what was expected comes to nothing", (_, denied) => void setTimeout(denied.addPending(), 2)],
    [
      "a source breaks off before its first byte",
      (res) => {
        const source = new PassThrough();
        source.pipe(res);
        source.destroy();
      },
    ],
    [
      "a source is taken off",
      (res) => {
        const source = new PassThrough();
        source.pipe(res);
        source.unpipe(res);
      },
    ],
    [
      "a source fails and the application listens",
      (res) =>
        void createReadStream(NO_FILE)
          .on("error", () => {})
          .pipe(res),
    ],
  ])("Headgate responds if %s", async (_, onDenied) => {
    expect(await deny(onDenied)).toMatchObject({ text: HEADGATE, late: [], failure: undefined });
  });
});

describe("writes after the response has ended", () => {
  const done: string[] = [];
  test.each<[string, (res: ServerResponse) => unknown]>([
    ["setHeader", (res) => res.setHeader("x-late", "1")],
    ["setHeaders", (res) => res.setHeaders(new Headers({ "x-late": "1" }))],
    ["appendHeader", (res) => res.appendHeader("x-late", "1")],
    ["removeHeader", (res) => res.removeHeader("x-late")],
    ["writeHead", (res) => res.writeHead(200)],
    ["write", (res) => res.write("late", () => done.push("write"))],
    ["end", (res) => res.end("late", () => done.push("end"))],
    ["end with nothing but a callback", (res) => res.end(() => done.push("end"))],
  ])("a late write is dropped and reported, not thrown: %s", async (name, act) => {
    done.length = 0;
    let returned: unknown;
    let response: unknown;
    const { text, late } = await deny((res) => {
      response = res;
      res.end("mine");
      setTimeout(() => {
        returned = act(res);
      }, 5);
    });
    expect([text, late]).toMatchObject(["mine", [{ message: expect.stringContaining("ended") }]]);
    expect((late[0] as Error).stack).toContain("denied-response.test");
    // As Node's do: whoever writes goes on, and whoever waits is called.
    expect(returned).toBe(name === "write" ? true : response);
    if (name.startsWith("end") || name === "write") expect(done).toHaveLength(1);
  });

  test("a late piped source is read to its end, and its errors are ignored", async () => {
    const source = Readable.from(Array.from({ length: 100 }, () => "late".repeat(1_000)));
    const { text, late } = await deny((res) => {
      res.end("mine");
      setTimeout(() => {
        source.pipe(res);
        createReadStream(NO_FILE).pipe(res);
      }, 5);
    });
    expect(text).toBe("mine");
    const both = (): void => {
      expect(late).toContainEqual(expect.objectContaining({ code: "ENOENT" }));
      expect(source.readableEnded).toBe(true);
    };
    await vi.waitFor(both, { timeout: 5_000 });
  });

  test("a late error does not cut the response short", async () => {
    const long = "mine".repeat(2_000_000);
    const { text, late } = await deny((res) => {
      res.end(long);
      throw new Error("a bug");
    });
    expect(text).toHaveLength(long.length);
    expect(late).toMatchObject([{ message: "a bug" }]);
  });
});

describe("errors while a denied request is handled", () => {
  const fail = (message: string) => () => {
    throw new Error(message);
  };

  test.each<[string, OnDenied]>([
    ["the function throws", fail("a bug")],
    ["it rejects later", () => after(2).then(fail("a bug"))],
    ["what is expected fails", (_, denied) => denied.addPending()({ reason: new Error("a bug") })],
    [
      "it rejects, and so does what is expected",
      async (_, denied) => {
        setTimeout(denied.addPending(), 5, { reason: new Error("another bug") });
        throw new Error("a bug");
      },
    ],
    [
      "what is expected fails twice",
      (_, denied) => {
        const [first, second] = [denied.addPending(), denied.addPending()];
        first({ reason: new Error("a bug") });
        second({ reason: new Error("another bug") });
      },
    ],
  ])(
    "an error before the response has begun goes to the error handler: %s",
    async (_, onDenied) => {
      expect(await deny(onDenied)).toMatchObject({ failure: { message: "a bug" }, late: [] });
    },
  );

  test("an error does not go to the error handler if something else responds", async () => {
    const { text, late, failure } = await deny((res, denied) => {
      const [first, second] = [denied.addPending(), denied.addPending()];
      first({ reason: new Error("a bug") });
      setTimeout(() => second(void res.end("mine")), 5);
    });
    expect([text, failure]).toEqual(["mine", undefined]);
    expect(late).toMatchObject([{ message: "a bug" }]);
  });

  test.each<[string, OnDenied, ((res: ServerResponse) => void)?]>([
    ["after the first byte", (res) => res.write("mi") && fail("a bug")()],
    [
      "after a first byte that middleware keeps",
      (res) => res.write("mi") && fail("a bug")(),
      holdWrites,
    ],
    [
      "after the headers",
      (res) => {
        res.flushHeaders();
        throw new Error("a bug");
      },
    ],
    ["in a source", (res) => res.write("mi") && void createReadStream(NO_FILE).pipe(res)],
    [
      "when the error handler has taken over",
      (res) => {
        setTimeout(() => createReadStream(NO_FILE).pipe(res), 5);
        // The handler waits for the source.
        res.end = () => res;
        throw new Error("a bug");
      },
    ],
  ])("%s: the response is closed, so that no client waits", async (_, onDenied, before) => {
    const late: unknown[] = [];
    const asked = performance.now();
    await expect(deny(onDenied, before, late)).rejects.toThrow();
    expect(performance.now() - asked).toBeLessThan(1_500);
    expect(late).toHaveLength(1);
  });

  test("an error does not close a response that something else continues", async () => {
    const { text, late } = await deny((res) => {
      const source = new PassThrough();
      source.pipe(res);
      source.write("mi");
      setTimeout(() => source.end("ne"), 5);
      throw new Error("a bug");
    });
    expect(text).toBe("mine");
    expect(late).toMatchObject([{ message: "a bug" }]);
  });
});

test("a response that was held back is replaced by another if it fails", async () => {
  const { text, status } = await deny((res, denied) => {
    denied.lockHead(503, {});
    denied.unlockHead();
    res.end("mine");
  });
  expect([text, status]).toEqual(["mine", 429]);
});
