import { PassThrough } from "node:stream";
import { expect, test } from "vitest";
import { CommandError } from "../command/command-error.ts";
import { readSecret } from "./secret.ts";

const stderr = new PassThrough().resume();

function read(stdin: PassThrough, signal = new AbortController().signal): Promise<string> {
  return readSecret("password", { stdin, stderr, signal });
}

test("a secret is the next line, however it is split into chunks, and the rest stays unread", async () => {
  const stdin = new PassThrough();
  const first = read(stdin);
  for (const byte of Buffer.from("pä ss\r\nsecond\nthe rest")) stdin.write(Buffer.of(byte));
  expect(await first).toBe("pä ss");
  expect(await read(stdin)).toBe("second");
  stdin.end();
  expect(await read(stdin)).toBe("the rest");
});

test("lines in one chunk are read one by one", async () => {
  const stdin = new PassThrough();
  stdin.end("one\ntwo\n");
  expect([await read(stdin), await read(stdin)]).toEqual(["one", "two"]);
  await expect(read(stdin)).rejects.toThrow(CommandError);
});

test("an empty line is rejected", async () => {
  const stdin = new PassThrough();
  stdin.end("\nsecret\n");
  await expect(read(stdin)).rejects.toThrow("standard input has no password in its first line");
});

test("an interruption ends the wait for a secret", async () => {
  const controller = new AbortController();
  const reading = read(new PassThrough(), controller.signal);
  controller.abort(new CommandError("interrupted", 130));
  await expect(reading).rejects.toThrow("interrupted");
});
