import { execFile } from "node:child_process";
import type { Channel } from "node:diagnostics_channel";
import { channel } from "node:diagnostics_channel";
import { setImmediate as nextTurn } from "node:timers/promises";
import { inspect, promisify } from "node:util";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { publish } from "./publish.ts";

const run = promisify(execFile);

/** A channel of a test's own, with these subscribers. */
function channelWith(name: string, ...subscribers: ((message: unknown) => unknown)[]): Channel {
  const made = channel(name);
  for (const subscriber of subscribers) {
    made.subscribe(subscriber);
    onTestFinished(() => void made.unsubscribe(subscriber));
  }
  return made;
}

/** Collects warnings, and errors that would have ended the process, until the test ends. */
function watchProcess() {
  const warn = vi.spyOn(process, "emitWarning").mockImplementation(() => {});
  const fatal: unknown[] = [];
  const note = (reason: unknown): void => void fatal.push(reason);
  process.on("uncaughtException", note).on("unhandledRejection", note);
  onTestFinished(() => {
    warn.mockRestore();
    process.off("uncaughtException", note).off("unhandledRejection", note);
  });
  return {
    warnings: () => warn.mock.calls.map(([message, options]) => ({ message, ...Object(options) })),
    async fatal() {
      // Node reports what nobody handles after the ticks and microtasks of a turn.
      await nextTurn();
      await nextTurn();
      return fatal;
    },
  };
}

test("every subscriber gets the message and the channel's name, as Node publishes", () => {
  const got: unknown[][] = [];
  const note = (...args: unknown[]): void => void got.push(args);
  const ours = channelWith("test:publish", note, note);
  publish(ours, { a: 1 });
  ours.publish({ a: 1 });
  expect(got).toEqual(Array(4).fill([{ a: 1 }, "test:publish"]));
});

test("a message without subscribers is ignored", () => {
  expect(() => publish(channel("test:publish:nobody"), {})).not.toThrow();
});

test("a subscriber that unsubscribes during a message keeps no other from it", () => {
  const got: string[] = [];
  const once = () => {
    got.push("once");
    ours.unsubscribe(once);
  };
  const ours = channelWith("test:publish:once", once, () => void got.push("always"));
  publish(ours, {});
  publish(ours, {});
  expect(got).toEqual(["once", "always", "always"]);
});

describe("a subscriber that fails", () => {
  const unprintable = {
    [inspect.custom]() {
      throw new Error("not to be looked at");
    },
  };

  test.each<[string, (reason: unknown) => unknown]>([
    [
      "by throwing",
      (reason) => {
        throw reason;
      },
    ],
    ["by a promise that rejects", async (reason) => Promise.reject(reason)],
    [
      "by a thenable that throws",
      (reason) => ({
        // biome-ignore lint/suspicious/noThenProperty: what is tested.
        get then() {
          throw reason;
        },
      }),
    ],
  ])(
    "%s reaches nobody: the others get the message, the process lives, one warning is logged",
    async (how, fail) => {
      const seen = watchProcess();
      const got: unknown[] = [];
      const reasons = [new Error("a bug"), unprintable, undefined];
      const failing = () => fail(reasons[got.length]);
      const ours = channelWith(`test:publish:${how}`, failing, (message) => void got.push(message));
      for (let i = 0; i < 3; i += 1) publish(ours, i);
      expect(got).toEqual([0, 1, 2]);
      expect(await seen.fatal()).toEqual([]);
      expect(seen.warnings()).toEqual([
        {
          message: expect.stringContaining(`a subscriber of the channel test:publish:${how} threw`),
          type: "HeadgateWarning",
          code: "HEADGATE_SUBSCRIBER_FAILED",
          detail: expect.stringContaining("Error: a bug"),
        },
      ]);
    },
  );

  test("with a value that cannot be shown is logged, too", async () => {
    const seen = watchProcess();
    const ours = channelWith("test:publish:unprintable", () => {
      throw unprintable;
    });
    publish(ours, {});
    expect(seen.warnings()).toMatchObject([{ detail: "the thrown value cannot be shown" }]);
  });
});

test("Node's own publish ends the process if a subscriber throws", async () => {
  const code = `
    const { channel } = require("node:diagnostics_channel");
    channel("c").subscribe(() => { throw new Error("a bug") });
    channel("c").publish({});
    setTimeout(() => console.log("alive"), 10);
  `;
  await expect(run(process.execPath, ["-e", code])).rejects.toMatchObject({ code: 1, stdout: "" });
});

test.each([
  [{}],
  [{ _subscribers: new Set() }],
  [{ _subscribers: [], _bypassSubscribers: [() => {}] }],
])("a Node that stores subscribers elsewhere uses its own publish: %o", (kept) => {
  const published = vi.fn();
  const other = { name: "other", publish: published, ...kept } as unknown as Channel;
  publish(other, { a: 1 });
  expect(published.mock.calls).toEqual([[{ a: 1 }]]);
});
