import { EventEmitter } from "node:events";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { listenForErrors } from "./store-error.ts";

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

test("a client's last error counts as recent for a minute, and does not contain the command", () => {
  const client = new EventEmitter().on("error", () => {});
  const errors = listenForErrors(client);
  expect(errors.recent()).toBeUndefined();
  client.emit("error", new Error("first"));
  const command = { name: "auth", args: ["old secret"] };
  client.emit("error", Object.assign(new Error("WRONGPASS no"), { command, code: "ECODE" }));
  vi.advanceTimersByTime(59_999);
  expect(errors.recent()).toMatchObject({ message: "WRONGPASS no", code: "ECODE" });
  expect(errors.recent()).not.toHaveProperty("command");
  vi.advanceTimersByTime(1);
  expect(errors.recent()).toBeUndefined();
  client.emit("error", "no error at all");
  expect(errors.recent()?.message).toBe("no error at all");
});

test("a client has one error listener of Headgate, however many stores use it", () => {
  const client = new EventEmitter().on("error", () => {});
  const errors = listenForErrors(client);
  for (let i = 0; i < 20; i += 1) expect(listenForErrors(client)).toBe(errors);
  expect(client.listenerCount("error")).toBe(2);
});
