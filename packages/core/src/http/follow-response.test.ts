import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { watchLeaving } from "./follow-response.ts";

const client = { address: "203.0.113.7", peer: undefined, hasLeft: () => false };
const never = new AbortController().signal;

function makeResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

test("what has been answered is waited for no more, before its response is closed", () => {
  const response = makeResponse();
  const leaving = watchLeaving(response, client, never);
  expect(leaving.hasLeft()).toBe(false);
  response.end();
  expect(leaving.hasLeft()).toBe(true);
  leaving.stop();
});

test("a wait is over before it begins where its request has been answered, or its client has left", () => {
  const answered = makeResponse().end();
  for (const leaving of [
    watchLeaving(answered, client, never),
    watchLeaving(makeResponse(), { ...client, hasLeft: () => true }, never),
  ]) {
    expect([leaving.signal.aborted, leaving.hasLeft()]).toEqual([true, true]);
    leaving.stop();
  }
});

test("where nobody is to wait any more, the client is still there to be answered", () => {
  const leaving = watchLeaving(makeResponse(), client, AbortSignal.abort());
  expect([leaving.signal.aborted, leaving.hasLeft()]).toEqual([true, false]);
  leaving.stop();
});
