import { expect, test } from "vitest";
import { sendableRequest } from "./sendable-request.ts";

test.each([
  ["GET", "/a/b?c=d", "GET", "/a/b?c=d"],
  ["PROPFIND", "/dav", "PROPFIND", "/dav"],
  ["OPTIONS", "*", "OPTIONS", "/"],
  ["GET", "http://www.example.com/a?b", "GET", "/a?b"],
  ["GET", "http://www.example.com", "GET", "/"],
  ["CONNECT", "www.example.com:443", "GET", "/"],
  ["BREW", "/pot", "GET", "/pot"],
  ["get", "/", "GET", "/"],
  ["", "", "GET", "/"],
  ["GET", "/two words", "GET", "/two%20words"],
  ["GET", "/grüße", "GET", "/gr%C3%BC%C3%9Fe"],
  ["GET", "/\ud800", "GET", "/%EF%BF%BD"],
  ["GET", String.raw`/a\"b\\c\x0a`, "GET", String.raw`/a"b\c%0a`],
  ["GET", "/?q=%E4%", "GET", "/?q=%25E4%25"],
  ["GET", `/${"a".repeat(9_000)}`, "GET", "/"],
])("%s %j is sent as %s %s", (method, path, sentMethod, sentPath) => {
  const request = { time: 0, client: "192.0.2.1", method, path };
  expect(sendableRequest(request)).toEqual({
    method: sentMethod,
    path: sentPath,
    headers: { "x-forwarded-for": "192.0.2.1" },
  });
});
