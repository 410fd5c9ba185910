import { IncomingMessage, ServerResponse } from "node:http";
import { Socket } from "node:net";
import { expect, test } from "vitest";
import { watchDisconnect } from "./response-end.ts";

const client = { address: "203.0.113.7", peer: undefined, isDisconnected: () => false };
const never = new AbortController().signal;

function makeResponse(): ServerResponse {
  return new ServerResponse(new IncomingMessage(new Socket()));
}

test("a waiting request stops waiting once its response has ended", () => {
  const response = makeResponse();
  const disconnect = watchDisconnect(response, client, never);
  expect(disconnect.isDisconnected()).toBe(false);
  response.end();
  expect(disconnect.isDisconnected()).toBe(true);
  disconnect.stop();
});

test("a request does not begin to wait if its response has ended or its client has disconnected", () => {
  const answered = makeResponse().end();
  for (const disconnect of [
    watchDisconnect(answered, client, never),
    watchDisconnect(makeResponse(), { ...client, isDisconnected: () => true }, never),
  ]) {
    expect([disconnect.signal.aborted, disconnect.isDisconnected()]).toEqual([true, true]);
    disconnect.stop();
  }
});

test("closing the guard ends a wait, and the client still gets a response", () => {
  const disconnect = watchDisconnect(makeResponse(), client, AbortSignal.abort());
  expect([disconnect.signal.aborted, disconnect.isDisconnected()]).toEqual([true, false]);
  disconnect.stop();
});
