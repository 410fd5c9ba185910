import { setImmediate } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { loadShedder } from "./load-shedder.ts";
import { readOptions } from "./options.ts";

const read = (options: unknown) => readOptions(options as object);

function messageOf(options: unknown): string {
  try {
    loadShedder(options as object);
  } catch (error) {
    expect(error).toMatchObject({ name: "HeadgateError", code: "HEADGATE_INVALID_OPTION" });
    return (error as Error).message;
  }
  throw new Error("nothing was thrown");
}

describe("loadShedder rejects at construction", () => {
  test.each([
    [null, "loadShedder: options must be an object, got null"],
    [
      { maxWait: "19ms" },
      'loadShedder: maxWait must be a duration from 20 ms to 1 minute, got "19ms"',
    ],
    [
      { maxWait: 60_001 },
      "loadShedder: maxWait must be a duration from 20 ms to 1 minute, got 60001",
    ],
    [{ retryAfter: 50 }, "loadShedder: retryAfter must be a duration from 1 s to 1 day, got 50"],
    [
      { maxInFlight: 0 },
      "loadShedder: maxInFlight must be a whole number from 1 to 1000000, got 0",
    ],
    [{ maxInFlight: Number.POSITIVE_INFINITY }, "whole number from 1 to 1000000, got Infinity"],
    [{ maxInFlight: "5" }, 'whole number from 1 to 1000000, got "5"'],
    [
      { priority: "critical" },
      'loadShedder: priority must be a function of the request, got "critical"',
    ],
    [{ subject: null }, "loadShedder: subject must be a function of the request, got null"],
    [{ dryRun: 1 }, "loadShedder: dryRun must be true or false, got 1"],
    [{ trustStartHeader: "yes" }, 'loadShedder: trustStartHeader must be true or false, got "yes"'],
    [{ name: "" }, 'loadShedder: name must be a string of 1 to 512 characters, got ""'],
    [{ maxEventLoopDelay: 1_000 }, "Headgate's way is maxWait"],
    [{ wait: 5 }, 'unknown option "wait"; it takes name, maxWait, priority, subject'],
  ])("%j", (options, message) => {
    expect(messageOf(options)).toContain(message);
  });

  test("a duration that is none, with the ways to write one", () => {
    expect(messageOf({ maxWait: "fast" })).toMatch(/^maxWait must be a duration .* got "fast"$/);
  });
});

test("loadShedder without options waits at most 300 ms, and asks clients to wait a second", () => {
  expect(read({})).toMatchObject({
    name: "server",
    maxWaitMs: 300,
    maxInFlight: Number.POSITIVE_INFINITY,
    trustStartHeader: false,
    retryAfterSeconds: 1,
    dryRun: false,
    subjectOf: undefined,
  });
  expect(read({}).priorityOf({} as never)).toBe("default");
  expect(read({ retryAfter: "1500ms" }).retryAfterSeconds).toBe(2);
});

describe("the result of a function", () => {
  const priorityOf = (value: unknown) => read({ priority: () => value }).priorityOf({} as never);
  const subjectOf = (value: unknown) => read({ subject: () => value }).subjectOf?.({}, "::1");

  test("priority is one of three words, or undefined for the default", () => {
    expect(priorityOf("critical")).toBe("critical");
    expect(priorityOf(undefined)).toBe("default");
    for (const wrong of ["urgent", 1, null, Promise.resolve("critical")]) {
      expect(() => priorityOf(wrong)).toThrow(
        expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
      );
    }
    // Not the value, which may be a client's.
    expect(() => priorityOf("secret")).toThrow(/"sheddable", got a string$/);
  });

  test("subject is text, a whole number, or nothing", () => {
    expect(subjectOf("ada")).toBe("ada");
    expect(subjectOf(7)).toBe("7");
    for (const none of [undefined, null, ""]) expect(subjectOf(none)).toBeUndefined();
    for (const wrong of [{}, 0.5, true, ["ada"]]) {
      expect(() => subjectOf(wrong)).toThrow(
        expect.objectContaining({ code: "HEADGATE_INVALID_KEY", cause: wrong }),
      );
    }
  });

  test("a promise is an error, and nothing more if it rejects", async () => {
    const rejections: unknown[] = [];
    const note = (reason: unknown): void => void rejections.push(reason);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    expect(() => subjectOf(Promise.reject(new Error("subject")))).toThrow(
      expect.objectContaining({
        code: "HEADGATE_INVALID_KEY",
        message: expect.stringMatching(/at once, got a promise$/),
      }),
    );
    expect(() => priorityOf(Promise.reject(new Error("priority")))).toThrow(
      expect.objectContaining({ code: "HEADGATE_INVALID_OPTION" }),
    );
    await setImmediate();
    expect(rejections).toEqual([]);
  });

  test("a long subject is replaced by its hash", () => {
    const [one, other] = [subjectOf("a".repeat(10_000)), subjectOf("a".repeat(10_001))];
    expect(one).toMatch(/^#.{1,64}$/);
    expect(one).not.toBe(other);
  });

  test("a subject that is written like the hash of another is not the other", () => {
    const hash = subjectOf("a".repeat(10_000));
    expect(subjectOf(hash)).not.toBe(hash);
  });
});
