import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { PassThrough } from "node:stream";
import { promisify } from "node:util";
import { describe, expect, test, vi } from "vitest";
import { concurrency } from "../algorithms/concurrency.ts";
import { fixedWindow } from "../algorithms/fixed-window.ts";
import { warnedCodes } from "../common/operator-log.ts";
import { createLimiter } from "../limiter/create-limiter.ts";
import { memoryStore } from "../store/memory-store.ts";
import type { Client, HttpRequest } from "./client.ts";
import { clientOf, WRAPPED_REQUEST } from "./client.ts";
import type { GuardOptions } from "./guard-options.ts";
import { createHttpGuard } from "./http-guard.ts";
import { byHeader } from "./keys.ts";
import { byTier } from "./request-limits.ts";

const limits = fixedWindow({ limit: 2, window: "1m" });

const client: Client = { address: "203.0.113.7", peer: "203.0.113.7", isDisconnected: () => false };

/** A request of its own. */
function request(headers: HttpRequest["headers"] = {}): HttpRequest {
  return { headers };
}

describe("createHttpGuard", () => {
  test("createHttpGuard decides requests and returns their decisions later", async () => {
    const guard = createHttpGuard("rateLimit", { limits });
    const first = request();
    expect(await guard.check(first, client)).toMatchObject({
      kind: "allowed",
      decision: { remaining: 1 },
    });
    expect(guard.decisionOf(first)).toMatchObject({ subject: { default: "203.0.113.7" } });
    expect(guard.decisionOf(request())).toBeUndefined();
    await guard.check(request(), client);
    const denied = await guard.check(request(), client);
    expect(denied).toMatchObject({ kind: "denied", rejection: { status: 429 } });
    // Nobody is going to call it.
    expect(denied).not.toHaveProperty("recordOutcome");
  });

  test("a request and the objects that wrap it are counted once", async () => {
    const guard = createHttpGuard("rateLimit", { limits });
    const carried = request();
    const context = { ...request(), [WRAPPED_REQUEST]: carried };
    expect(await guard.check(context, client)).toMatchObject({ decision: { remaining: 1 } });
    for (const one of [carried, { ...request(), [WRAPPED_REQUEST]: carried }]) {
      expect(await guard.check(one, client)).toEqual({ kind: "pass" });
      expect(guard.decisionOf(one)?.decision.remaining).toBe(1);
    }
  });

  test("createHttpGuard has one limiter, or one for each tier", async () => {
    const guard = createHttpGuard("rateLimit", { name: "one", limits });
    expect(guard.limiter?.name).toBe("one");
    expect(guard.tiers.size).toBe(0);
    const tiered = createHttpGuard("rateLimit", { limits: byTier({ free: limits }, () => "free") });
    expect(tiered.limiter).toBeUndefined();
    expect([...tiered.tiers.keys()]).toEqual(["free"]);
  });

  test("close frees the name, but does not close a limiter that was passed in", async () => {
    const store = memoryStore();
    const make = (limit: number) =>
      createHttpGuard("rateLimit", { name: "a", store, limits: { ...limits, limit } });
    const guard = make(2);
    expect(() => make(3)).toThrow(expect.objectContaining({ code: "HEADGATE_DUPLICATE_NAME" }));
    await guard.close();
    make(3);
    const limiter = createLimiter({ limits });
    await createHttpGuard("rateLimit", { limiter }).close();
    expect((await limiter.consume("a")).allowed).toBe(true);
  });

  test("headers of the Fetch API are read", async () => {
    const key = byHeader("X-Api-Key");
    const guard = createHttpGuard("rateLimit", { limits, key, missingKey: "reject" });
    const withKey = (value: string) => request(new Headers({ "x-api-key": value }));
    const remaining = [];
    for (const value of ["ada", "ada", "grace"]) {
      const verdict = await guard.check(withKey(value), client);
      if (verdict.kind === "allowed") remaining.push(verdict.decision.remaining);
    }
    expect(remaining).toEqual([1, 0, 1]);
    expect((await guard.check(request(new Headers()), client)).kind).toBe("refused");
  });

  test("the address is read from a Fetch API header only if a trusted proxy sent it", async () => {
    const warn = vi.fn();
    const address = { header: "X-Real-IP", trust: ["10.0.0.0/8"] };
    const guard = createHttpGuard("rateLimit", { limits, address }, { warn });
    const subjectFrom = async (peer: string | undefined) => {
      const one = request(new Headers({ "x-real-ip": "198.51.100.1" }));
      await guard.check(one, { ...client, peer });
      return guard.decisionOf(one)?.subject["default"];
    };
    expect(await subjectFrom("10.0.0.7")).toBe("198.51.100.1");
    expect(await subjectFrom("192.0.2.1")).toBe("203.0.113.7");
    expect(await subjectFrom(undefined)).toBe("203.0.113.7");
    expect(warn.mock.calls.map(([code]) => code)).toEqual(
      Array(2).fill("HEADGATE_ADDRESS_HEADER_IGNORED"),
    );
  });

  test("a Fetch API request with a forwarding header from an untrusted proxy is reported", async () => {
    const warn = vi.fn();
    const guard = createHttpGuard("rateLimit", { limits }, { warn });
    await guard.check(request(new Headers({ forwarded: "for=198.51.100.1" })), client);
    // Not every framework can be told of a proxy.
    const text = expect.stringContaining("or give the option address");
    expect(warn.mock.calls).toEqual([["HEADGATE_PROXY_NOT_TRUSTED", text, expect.anything()]]);
  });
});

describe("errors that a framework receives", () => {
  test.each([[undefined], [null], ["route"], [0]])(
    "check rejects with an Error even if a function throws %j",
    async (thrown) => {
      const key = () => {
        throw thrown;
      };
      const { check } = createHttpGuard("rateLimit", { limits, key });
      const failure = await check(request(), client).catch((error: unknown) => error);
      expect(failure).toBeInstanceOf(Error);
      expect(failure).toMatchObject({ code: "HEADGATE_NOT_AN_ERROR", cause: thrown });
    },
  );

  test("check rejects with the same error that was thrown", async () => {
    const wrong = new Error("wrong");
    const key = () => Promise.reject(wrong);
    await expect(createHttpGuard("a", { limits, key }).check(request(), client)).rejects.toBe(
      wrong,
    );
  });

  test("error messages name the function of the adapter", async () => {
    const nobody = { ...client, address: undefined };
    await expect(createHttpGuard("limited", { limits }).check(request(), nobody)).rejects.toThrow(
      /^limited: a request has no client address/,
    );
    expect(() => createHttpGuard("limited", { limits, max: 1 } as GuardOptions<never>)).toThrow(
      'limited: unknown option "max"',
    );
  });
});

describe("mistakes of an adapter", () => {
  test.each([
    ["no client", undefined],
    ["an address", "203.0.113.7"],
    ["a list of addresses, such as ctx.ips", { ...client, address: ["203.0.113.7"] }],
    ["an address that is no text", { ...client, address: 7 }],
    ["a client without isDisconnected", { address: "203.0.113.7" }],
  ])("an adapter gets an error for %s", async (_, wrong) => {
    const { check } = createHttpGuard("limited", { limits });
    await expect(check(request(), wrong as Client)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringMatching(/^limited: check takes a client made by clientOf/),
    });
  });

  test("an adapter gets an error for an unknown property", () => {
    expect(() => createHttpGuard("limited", { limits }, { routeof: () => "" } as object)).toThrow(
      'limited: adapter: unknown option "routeof"; it takes name, routeOf, warn, callsOnDenied, passesResponse',
    );
  });

  test("an adapter gets an error for a Fetch API request without an address", async () => {
    const asked = new Request("http://localhost/");
    const { check } = createHttpGuard("limited", { limits });
    await expect(check(asked, clientOf(undefined, asked as object))).rejects.toMatchObject({
      code: "HEADGATE_NO_ADDRESS",
    });
  });
});

describe("options that need support of the adapter", () => {
  test.each([
    ["onDenied", () => {}],
    ["count", "failed"],
    ["wait", "2s"],
  ])("an option that the adapter does not support is rejected: %s", (option, value) => {
    const options: GuardOptions<HttpRequest> = { limits, [option]: value };
    expect(() => createHttpGuard("rateLimit", options)).toThrow(
      `rateLimit: this adapter does not have the option ${option}; `,
    );
    createHttpGuard("rateLimit", options, { callsOnDenied: true, passesResponse: true });
  });

  test("an option that is off needs no support of the adapter, and no response", async () => {
    const guard = createHttpGuard("rateLimit", { limits, wait: false });
    const kinds = [];
    for (let i = 0; i < 3; i += 1) kinds.push((await guard.check(request(), client)).kind);
    expect(kinds).toEqual(["allowed", "allowed", "denied"]);
  });
});

describe("slots", () => {
  const two = concurrency({ limit: 2, ttl: "1m" });

  test("concurrency limits are rejected if the adapter passes no response", () => {
    expect(() => createHttpGuard("limited", { limits: two })).toThrow(
      "limited: this adapter does not know when a response ends",
    );
  });

  test("slots are held until the response passed to check has ended", async () => {
    const guard = createHttpGuard("rateLimit", { limits: two }, { passesResponse: true });
    const free = async () => (await guard.limiter?.peek("203.0.113.7", { cost: 0 }))?.remaining;
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    await guard.check(request(), client, response);
    expect(await free()).toBe(1);
    response.end();
    await expect.poll(free).toBe(2);
  });
});

interface Visit {
  readonly response: ServerResponse;
  readonly socket: Socket;
}

describe("wait", () => {
  const waiting = () =>
    createHttpGuard(
      "rateLimit",
      { limiter: createLimiter({ limits: fixedWindow({ limit: 1, window: "1h" }) }), wait: "10m" },
      { passesResponse: true },
    );
  const makeResponse = () => new ServerResponse(new IncomingMessage(new Socket()));

  test("a wait ends when the guard is closed, even if the limiter was passed in", async () => {
    const guard = waiting();
    await guard.check(request(), client, makeResponse());
    const checked = guard.check(request(), client, makeResponse());
    await new Promise((resolve) => setImmediate(resolve));
    await guard.close();
    expect(await checked).toMatchObject({ kind: "denied", rejection: { status: 429 } });
  });

  test.each([
    ["the response is closed", ({ response }: Visit) => response.emit("close")],
    ["its connection is closed", ({ socket }: Visit) => socket.emit("close")],
  ])("a wait ends when %s", async (_, leave) => {
    const guard = waiting();
    await guard.check(request(), client, makeResponse());
    const socket = new Socket();
    const response = new ServerResponse(new IncomingMessage(socket));
    const checked = guard.check(request(), client, response);
    await new Promise((resolve) => setImmediate(resolve));
    leave({ response, socket });
    expect(await checked).toEqual({ kind: "disconnected" });
    expect([socket.listenerCount("close"), response.listenerCount("close")]).toEqual([0, 0]);
    await guard.close();
  });

  test("wait is an error if check gets no response", async () => {
    await expect(waiting().check(request(), client)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringMatching(/^rateLimit: for count, wait and concurrency .* undefined$/),
    });
  });
});

describe("count", () => {
  /** Remaining units after one answer with a status. */
  async function remainingAfter(status: number): Promise<number | undefined> {
    const guard = createHttpGuard(
      "rateLimit",
      { limits, count: "failed" },
      { passesResponse: true },
    );
    const response = new ServerResponse(new IncomingMessage(new Socket()));
    await guard.check(request(), client, response);
    response.assignSocket(new PassThrough() as unknown as Socket);
    response.statusCode = status;
    await promisify(response.end.bind(response) as (done: () => void) => void)();
    await new Promise((resolve) => setImmediate(resolve));
    return (await guard.limiter?.peek("203.0.113.7", { cost: 0 }))?.remaining;
  }

  test("count settles a charge when the response passed to check has ended", async () => {
    expect(await remainingAfter(200)).toBe(2);
    expect(await remainingAfter(404)).toBe(1);
  });

  test.each([
    ["nothing", undefined],
    ["a response of the Fetch API", new Response()],
    ["Node's request", new IncomingMessage(new Socket())],
  ])("count is an error if check gets %s", async (_, response) => {
    const guard = createHttpGuard(
      "rateLimit",
      { limits, count: "failed" },
      { passesResponse: true },
    );
    await expect(guard.check(request(), client, response)).rejects.toMatchObject({
      code: "HEADGATE_INVALID_OPTION",
      message: expect.stringMatching(
        /^rateLimit: for count, wait and concurrency .* Node's response/,
      ),
    });
    const limited = createHttpGuard("rateLimit", { limits }, { passesResponse: true });
    expect(await limited.check(request(), client, response)).toMatchObject({ kind: "allowed" });
  });
});

describe("warnings", () => {
  const forwarded = () => request({ "x-forwarded-for": "198.51.100.1" });

  test("warnings go to the log of the adapter", async () => {
    const warn = vi.fn();
    const guard = createHttpGuard("rateLimit", { limits }, { warn });
    const one = forwarded();
    await guard.check(one, client);
    const text = expect.stringContaining("not trusted as a proxy");
    expect(warn.mock.calls).toEqual([["HEADGATE_PROXY_NOT_TRUSTED", text, one]]);
  });

  test("without a log of the adapter, warnings are process warnings, once for each code", async () => {
    // Other tests of this process may have had the warning.
    warnedCodes().delete(process);
    const emitted = vi.spyOn(process, "emitWarning").mockReturnValue();
    for (let i = 0; i < 2; i += 1) {
      await createHttpGuard("rateLimit", { limits }).check(forwarded(), client);
    }
    expect(emitted.mock.calls).toEqual([
      [expect.any(String), { type: "HeadgateWarning", code: "HEADGATE_PROXY_NOT_TRUSTED" }],
    ]);
    emitted.mockRestore();
  });
});
