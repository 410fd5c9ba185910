import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { watchDisconnect } from "./response-lifetime.ts";

const client = { address: "203.0.113.7", peer: undefined, isDisconnected: () => false };
const never = new AbortController().signal;

function makeResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

test("what has been answered is waited for no more, before its response is closed", () => {
  const response = makeResponse();
  const disconnect = watchDisconnect(response, client, never);
  expect(disconnect.isDisconnected()).toBe(false);
  response.end();
  expect(disconnect.isDisconnected()).toBe(true);
  disconnect.stop();
});

test("a wait is over before it begins where its request has been answered, or its client has left", () => {
  const answered = makeResponse().end();
  for (const disconnect of [
    watchDisconnect(answered, client, never),
    watchDisconnect(makeResponse(), { ...client, isDisconnected: () => true }, never),
  ]) {
    expect([disconnect.signal.aborted, disconnect.isDisconnected()]).toEqual([true, true]);
    disconnect.stop();
  }
});

test("where nobody is to wait any more, the client is still there to be answered", () => {
  const disconnect = watchDisconnect(makeResponse(), client, AbortSignal.abort());
  expect([disconnect.signal.aborted, disconnect.isDisconnected()]).toEqual([true, false]);
  disconnect.stop();
});
