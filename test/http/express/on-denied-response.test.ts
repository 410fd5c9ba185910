import { createReadStream } from "node:fs";
import { join } from "node:path";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { setTimeout as after } from "node:timers/promises";
import type { OnDenied } from "@headgate/express";
import { byTier, gcra, rateLimit } from "@headgate/express";
import ejs from "ejs";
import { expect, test } from "vitest";
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

describeExpress(({ serve }) => {
  test.each(Object.entries(answers))(
    "onDenied that answers with %s: nothing is sent after it",
    async (_, onDenied) => {
      const settled = watchUnhandled();
      const { ask } = await serve((app) => {
        app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
      });
      await ask();
      const denied = await ask();
      expect(denied).toMatchObject({ status: 503, text: "mine" });
      expect(denied.headers).toHaveProperty("retry-after");
      await settled();
    },
  );

  test("onDenied that redirects has answered", async () => {
    const { ask } = await serve((app) => {
      const onDenied: OnDenied = (_req, res) => res.redirect(303, "/slow-down");
      app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
    });
    await ask();
    const denied = await ask();
    expect([denied.status, denied.headers["location"]]).toEqual([303, "/slow-down"]);
  });

  /** Denies a request with `onDenied`, in an application with a template; fails on anything that would end the process. */
  async function deny(onDenied: OnDenied) {
    const warnings = watchWarnings();
    const settled = watchUnhandled();
    const handled: string[] = [];
    const { ask } = await serve((app) => {
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
    await ask();
    const denied = await ask();
    await after(30);
    await settled();
    expect((await ask()).status).toBeGreaterThan(299);
    const late = warnings.filter(({ code }) => code === "HEADGATE_LATE_ANSWER");
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
    "onDenied that answers with %s is not replaced, and has the status and headers of a denial",
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
    "onDenied that answers too late, %s, does not end the process, and is reported once",
    async (_, onDenied) => {
      const denied = await deny(onDenied);
      expect(denied).toMatchObject({
        status: 429,
        headers: { "content-type": "application/problem+json" },
      });
      expect(denied.late).toHaveLength(1);
      expect(denied.late[0]?.message).toContain("onDenied");
    },
  );

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
  ])("a client waits for ever, because %s throws in onDenied", async (_, onDenied) => {
    const denied = await deny(onDenied);
    expect([denied.status, denied.handled, denied.late]).toEqual([500, 1, []]);
    expect(denied.headers).not.toHaveProperty("retry-after");
  });

  test("onDenied that sends a directory does not let the request go on", async () => {
    const denied = await deny((_req, res) => res.sendFile(FILES));
    expect([denied.status, denied.handled]).toEqual([500, 1]);
    expect(denied.headers).not.toHaveProperty("retry-after");
  });

  test("onDenied that closes the connection is left alone", async () => {
    await expect(deny((req) => void req.socket.destroy())).rejects.toThrow();
  });

  test("onDenied that sets what belongs to another body leaves none of it on Headgate's answer", async () => {
    const denied = await deny((_req, res) => {
      res.status(200).type("html").set({ "Content-Length": "3", ETag: '"x"', Location: "/x" });
    });
    expect(denied.status).toBe(429);
    expect(JSON.parse(denied.text)).toMatchObject({ status: 429 });
    for (const name of ["etag", "location"]) expect(denied.headers).not.toHaveProperty(name);
  });

  test("onDenied that throws after it answered does no harm", async () => {
    const settled = watchUnhandled();
    const { ask } = await serve((app) => {
      const onDenied: OnDenied = (_req, res) => {
        res.send("mine");
        throw new Error("too late");
      };
      app.use(rateLimit({ limits, onDenied }), (_req, res) => res.end("ok"));
    });
    const warnings = watchWarnings();
    await ask();
    for (let i = 0; i < 3; i += 1) expect(await ask()).toMatchObject({ status: 429, text: "mine" });
    await settled();
    expect(warnings).toMatchObject([{ code: "HEADGATE_LATE_ANSWER" }]);
  });

  test("middleware whose limits depend on the tier has the limiter of each", async () => {
    const limited = rateLimit({ limits: byTier({ free: limits }, () => "free") });
    expect([...limited.tiers.keys()]).toEqual(["free"]);
    expect(limited).not.toHaveProperty("limiter");
    const { ask } = await serve((app) => app.use(limited, (_req, res) => res.end("ok")));
    await ask();
    expect((await ask()).status).toBe(429);
    await limited.tiers.get("free")?.reset("127.0.0.1");
    expect((await ask()).status).toBe(200);
    await limited.close();
    expect((await ask()).status).toBe(500);
  });
});
