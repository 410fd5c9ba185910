import { createReadStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as after } from "node:timers/promises";
import { BODY_HEADERS } from "@headgate/core/internal-http";
import type { OnDenied } from "@headgate/express";
import { byTier, gcra, rateLimit } from "@headgate/express";
import ejs from "ejs";
import type { ErrorRequestHandler, Response } from "express";
import { expect, onTestFinished, test } from "vitest";
import { waitUntil } from "../../support/wait-until.ts";
import { secondsLeft } from "../support/seconds-left.ts";
import { watchUnhandled } from "../support/unhandled.ts";
import { watchWarnings } from "../support/warnings.ts";
import { describeExpress } from "./describe-express.ts";

const FILES = join(import.meta.dirname, "../ways-to-answer/files");

const limits = gcra({ limit: 1, window: "1h" });

const answers: Record<string, OnDenied> = {
  "send()": (_req, res) => res.status(503).send("mine"),
  "end()": (_req, res) => {
    res.statusCode = 503;
    res.end("mine");
  },
  "end() after a while": async (_req, res) => {
    await new Promise(setImmediate);
    res.status(503).end("mine");
  },
  "write() now and end() later": (_req, res) => {
    res.status(503).write("mi");
    setImmediate(() => res.end("ne"));
  },
  "a stream that is awaited": (_req, res) => pipeline(Readable.from(["mi", "ne"]), res.status(503)),
};

describeExpress(({ serve, make }) => {
  test.each(Object.entries(answers))(
    "onDenied that responds with %s: nothing is sent after its response",
    async (_, onDenied) => {
      const settled = watchUnhandled();
      const { sendRequest } = await serve((app) => {
        app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
      });
      await sendRequest();
      const denied = await sendRequest();
      expect(denied).toMatchObject({ status: 503, text: "mine" });
      expect(denied.headers).toHaveProperty("retry-after");
      await settled();
    },
  );

  test("a redirect by onDenied is a response", async () => {
    const { sendRequest } = await serve((app) => {
      const onDenied: OnDenied = (_req, res) => res.redirect(303, "/slow-down");
      app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
    });
    await sendRequest();
    const denied = await sendRequest();
    expect([denied.status, denied.headers["location"]]).toEqual([303, "/slow-down"]);
  });

  /** Denies a request with `onDenied`, in an application with a template; fails on anything that would end the process. */
  async function deny(onDenied: OnDenied, isLate = false) {
    const warnings = watchWarnings();
    const settled = watchUnhandled();
    const handled: string[] = [];
    const { sendRequest } = await serve((app) => {
      app
        .set("views", FILES)
        .set("view engine", "ejs")
        .engine("ejs", ejs.renderFile as never);
      app.use(rateLimit({ limits, onDenied }), async (req, res) => {
        handled.push(req.url);
        await after(1);
        res.send("handled");
      });
    });
    await sendRequest();
    const denied = await sendRequest();
    await after(30);
    if (isLate) await waitUntil("it is reported", 5_000, () => warnings[0]);
    await settled();
    expect((await sendRequest()).status).toBeGreaterThan(299);
    const late = warnings.filter(({ code }) => code === "HEADGATE_RESPONSE_ALREADY_SENT");
    return { ...denied, late, handled: handled.length };
  }

  test.each<[string, OnDenied, string]>([
    ["a template", (_req, res) => res.render("denied", { body: "mine" }), "mine"],
    ["a file", (_req, res) => res.sendFile(join(FILES, "denied.txt")), "[file]"],
    ["a pipe", (_req, res) => void Readable.from(["mi", "ne"]).pipe(res), "mine"],
    [
      "a pipe of a file",
      (_req, res) => void createReadStream(join(FILES, "denied.txt")).pipe(res),
      "[file]",
    ],
  ])(
    "onDenied that responds with %s is not replaced, and has the status and headers of a denial",
    async (_, onDenied, text) => {
      const denied = await deny(onDenied);
      expect([denied.status, denied.text.trim()]).toEqual([429, text]);
      expect(denied.headers).toMatchObject({
        "retry-after": secondsLeft(3_600),
        "cache-control": expect.anything(),
        ratelimit: expect.stringContaining("r=0"),
      });
      expect(denied.late).toEqual([]);
    },
  );

  test.each<[string, OnDenied]>([
    ["on a timer", (_req, res) => void setTimeout(() => res.send("late"), 5)],
    [
      "with a template, on a timer",
      (_req, res) => void setTimeout(() => res.render("denied", { body: "late" }), 5),
    ],
    [
      "with a pipe, on a timer",
      (_req, res) => void setTimeout(() => Readable.from(["late"]).pipe(res), 5),
    ],
    [
      "with a pipe of no file, on a timer",
      (_req, res) => void setTimeout(() => createReadStream("/no/such/file").pipe(res), 5),
    ],
    ["in the handler that next() reaches", (req) => req.next?.()],
  ])(
    "onDenied that responds too late, %s, does not end the process, and is reported once",
    async (_, onDenied) => {
      const denied = await deny(onDenied, true);
      expect(denied).toMatchObject({
        status: 429,
        headers: { "content-type": "application/problem+json" },
      });
      expect(denied.late).toHaveLength(1);
      expect(denied.late[0]?.message).toContain("onDenied");
    },
  );

  const senders = ["sendFile", ...("sendfile" in make.response ? ["sendfile"] : [])] as const;
  test.each(senders)(
    "onDenied that sends a directory does not let the request continue: %s",
    async (name) => {
      // Express 4 prints that sendfile is deprecated, unless somebody listens.
      const listen = () => {};
      process.on("deprecation" as never, listen);
      onTestFinished(() => void process.off("deprecation" as never, listen));
      const denied = await deny((_req, res) => res[name as "sendFile"](FILES));
      expect([denied.status, denied.handled]).toEqual([500, 1]);
      expect(denied.headers["retry-after"]).toEqual(secondsLeft(3_600));
    },
  );

  test.each<[string, (res: Response) => void]>([
    ["renders no template", (res) => res.status(500).render("missing")],
    ["sends no file", (res) => res.status(500).sendFile("/no/such/file")],
  ])(
    "every client gets a response if an error handler %s for an error of onDenied",
    async (_, answer) => {
      const { sendRequest } = await serve((app) => {
        app.set("env", "test").set("view engine", "ejs");
        const onDenied: OnDenied = () => {
          throw new Error("a bug");
        };
        app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
        const onError: ErrorRequestHandler = (_error, _req, res, _next) => answer(res);
        const onLastError: ErrorRequestHandler = (_error, _req, res, _next) => res.end("the last");
        app.use(onError, onLastError);
      });
      await sendRequest();
      expect((await sendRequest()).text).toBe("the last");
    },
  );

  test("a client that disconnects while onDenied sends a file causes no error", async () => {
    const settled = watchUnhandled();
    const errors: unknown[] = [];
    let isSent = false;
    const { sendRequest } = await serve((app) => {
      const onDenied: OnDenied = (req, res) => {
        req.socket.destroy();
        res.on("close", () => {
          isSent = true;
        });
        res.sendFile(join(FILES, "denied.txt"));
      };
      app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
      const onError: ErrorRequestHandler = (error, _req, _res, next) => {
        errors.push(error);
        next(error);
      };
      app.use(onError);
    });
    await sendRequest();
    await expect(sendRequest()).rejects.toThrow();
    await after(20);
    await settled();
    expect([errors, isSent]).toEqual([[], true]);
  });

  test.each<[string, OnDenied]>([
    [
      "throws",
      (_req, res) => {
        res.write("half");
        throw new Error("a bug");
      },
    ],
    [
      "rejects",
      async (_req, res) => {
        res.flushHeaders();
        await after(1);
        throw new Error("a bug");
      },
    ],
    [
      "pipes no file",
      (_req, res) => {
        res.write("half");
        createReadStream("/no/such/file").pipe(res);
      },
    ],
    [
      "pipes no file after its headers",
      (_req, res) => {
        res.flushHeaders();
        createReadStream("/no/such/file").pipe(res);
      },
    ],
  ])(
    "onDenied that %s in the middle of its response does not leave the client waiting",
    async (_, onDenied) => {
      const settled = watchUnhandled();
      const warnings = watchWarnings();
      const { sendRequest } = await serve((app) => {
        app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
      });
      await sendRequest();
      await expect(sendRequest()).rejects.toThrow();
      await settled();
      expect(warnings).toMatchObject([{ code: "HEADGATE_RESPONSE_ALREADY_SENT" }]);
    },
  );

  test("onDenied that throws while its response is piped does not abort the response", async () => {
    const denied = await deny((_req, res) => {
      const slow = new Readable({ read() {} });
      slow.pipe(res);
      slow.push("mi");
      setTimeout(() => slow.push("ne") && slow.push(null), 5);
      throw new Error("a bug");
    });
    expect([denied.status, denied.text]).toEqual([429, "mine"]);
    expect(denied.late).toHaveLength(1);
  });

  test("Headgate responds if onDenied unpipes its stream", async () => {
    const denied = await deny((_req, res) => {
      const source = new Readable({ read() {} });
      source.pipe(res);
      source.unpipe(res);
    });
    expect(denied.headers["content-type"]).toBe("application/problem+json");
    expect([denied.status, denied.late]).toEqual([429, []]);
  });

  test("a file that cannot be sent to a disconnected client is no error", async () => {
    const errors: unknown[] = [];
    const { sendRequest } = await serve((app) => {
      app.use((_req, res, next) => {
        // As Express 4 and 5 report it where a write fails.
        const gone = Object.assign(new Error("write EPIPE"), { syscall: "write" });
        res.sendFile = ((_path: string, _options: object, done: (error: Error) => void) => {
          setImmediate(done, gone);
        }) as typeof res.sendFile;
        next();
      });
      const onDenied: OnDenied = (_req, res) => res.sendFile(join(FILES, "denied.txt"));
      app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
      const onError: ErrorRequestHandler = (error, _req, _res, next) => {
        errors.push(error);
        next(error);
      };
      app.use(onError);
    });
    await sendRequest();
    expect((await sendRequest()).status).toBe(429);
    expect(errors).toEqual([]);
  });

  test.each<[string, OnDenied]>([
    ["names a file by half", (_req, res) => res.sendFile("denied.txt")],
    [
      "cannot send what it rendered",
      (_req, res) => {
        res.send = () => {
          throw new Error("a bug");
        };
        res.render("denied", { body: "mine" });
      },
    ],
  ])("the error handler responds if onDenied %s", async (_, onDenied) => {
    const denied = await deny(onDenied);
    expect(denied.status).toBe(500);
    expect(denied.headers["retry-after"]).toEqual(secondsLeft(3_600));
  });

  test.each<[string, OnDenied]>([
    ["a chunk that is no text", (_req, res) => res.write(5)],
    ["an end that is no text", async (_req, res) => res.end(5)],
    [
      "a status that does not exist",
      (_req, res) => {
        res.statusCode = 99_999;
        res.end("mine");
      },
    ],
  ])("a client waits forever because %s throws in onDenied", async (_, onDenied) => {
    const denied = await deny(onDenied);
    expect([denied.status, denied.handled, denied.late]).toEqual([500, 1, []]);
    expect(denied.headers["retry-after"]).toEqual(secondsLeft(3_600));
  });

  test.each<[string, (res: Response) => unknown, string | undefined]>([
    ["sets its own", (res) => res.set("Retry-After", "77"), "77"],
    ["removes it", (res) => res.removeHeader("Retry-After"), undefined],
  ])(
    "Retry-After stays as onDenied left it before it threw: onDenied that %s",
    async (_, change, sent) => {
      const denied = await deny((_req, res) => {
        change(res);
        throw new Error("a bug");
      });
      expect([denied.status, denied.headers["retry-after"]]).toEqual([500, sent]);
      expect(denied.headers).toHaveProperty("x-ratelimit-remaining", "0");
    },
  );

  test("onDenied that renders a template and sends it later has responded", async () => {
    const denied = await deny((_req, res) =>
      res.render("denied", { body: "mine" }, (_error: unknown, html: unknown): unknown =>
        after(5).then(() => res.send(html)),
      ),
    );
    expect([denied.status, denied.text.trim(), denied.late]).toEqual([429, "mine", []]);
  });

  test("a template of onDenied that fails after the error handler has responded is not handled again", async () => {
    const errors: string[] = [];
    const { sendRequest } = await serve((app) => {
      app.set("views", FILES).set("view engine", "ejs");
      const onDenied: OnDenied = (_req, res) => {
        setTimeout(() => res.render("missing"), 5);
        throw new Error("a bug");
      };
      app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
      const onError: ErrorRequestHandler = (error, _req, res, _next) => {
        errors.push(error.message);
        res.status(500).end("handled");
      };
      app.use(onError, onError);
    });
    const warnings = watchWarnings();
    await sendRequest();
    expect((await sendRequest()).text).toBe("handled");
    await after(20);
    expect(errors).toEqual(["a bug"]);
    expect(warnings).toMatchObject([{ code: "HEADGATE_RESPONSE_ALREADY_SENT" }]);
  });

  test("onDenied may close the connection", async () => {
    await expect(deny((req) => void req.socket.destroy())).rejects.toThrow();
  });

  test("body headers that onDenied set are removed from Headgate's response", async () => {
    const denied = await deny((_req, res) => {
      res.status(200).type("html");
      for (const name of BODY_HEADERS) res.set(name, "3");
    });
    expect(denied.status).toBe(429);
    expect(JSON.parse(denied.text)).toMatchObject({ status: 429 });
    expect(BODY_HEADERS.filter((name) => denied.headers[name] === "3")).toEqual([]);
  });

  test("onDenied that throws after it responded causes no error", async () => {
    const settled = watchUnhandled();
    const { sendRequest } = await serve((app) => {
      const onDenied: OnDenied = (_req, res) => {
        res.send("mine");
        throw new Error("too late");
      };
      app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
    });
    const warnings = watchWarnings();
    await sendRequest();
    for (let i = 0; i < 3; i += 1)
      expect(await sendRequest()).toMatchObject({ status: 429, text: "mine" });
    await settled();
    expect(warnings).toMatchObject([{ code: "HEADGATE_RESPONSE_ALREADY_SENT" }]);
  });

  test("middleware with byTier has the limiter of each tier", async () => {
    const limited = rateLimit({ limits: byTier({ free: limits }, () => "free") });
    expect([...limited.tiers.keys()]).toEqual(["free"]);
    expect(limited).not.toHaveProperty("limiter");
    const { sendRequest } = await serve((app) => app.use(limited, (_req, res) => res.end("ok")));
    await sendRequest();
    expect((await sendRequest()).status).toBe(429);
    await limited.tiers.get("free")?.reset("127.0.0.1");
    expect((await sendRequest()).status).toBe(200);
    await limited.close();
    expect((await sendRequest()).status).toBe(500);
  });
});
