import { expect, test } from "vitest";
import { parseRequestLine } from "./request-line.ts";

test.each([
  ["GET /a/b?c=d HTTP/1.1", "GET", "/a/b?c=d"],
  ["HEAD / HTTP/1.0", "HEAD", "/"],
  ["GET /old", "GET", "/old"],
  ["PROPFIND /dav HTTP/1.1", "PROPFIND", "/dav"],
  ["OPTIONS * HTTP/1.1", "OPTIONS", "/"],
  ["GET http://www.example.com/a?b HTTP/1.1", "GET", "/a?b"],
  ["GET http://www.example.com HTTP/1.1", "GET", "/"],
  ["CONNECT www.example.com:443 HTTP/1.1", "GET", "/"],
  ["BREW /pot HTTP/1.1", "GET", "/pot"],
  ["get / HTTP/1.1", "GET", "/"],
  ["GET /two words HTTP/1.1", "GET", "/two%20words"],
  ["GET /grüße HTTP/2.0", "GET", "/gr%C3%BC%C3%9Fe"],
  [String.raw`GET /a\"b\\c\x0a HTTP/1.1`, "GET", String.raw`/a"b\c%0a`],
  ["GET /?q=%E4% HTTP/1.1", "GET", "/?q=%25E4%25"],
  [`GET /${"a".repeat(9_000)} HTTP/1.1`, "GET", "/"],
])("%s is asked for as %s %s", (text, method, path) => {
  expect(parseRequestLine(text)).toEqual({ method, path });
});

test.each([
  "-",
  "",
  "GET",
  "GET ",
  "/index.html",
  String.raw`\x16\x03\x01\x02`,
  "HELO mail",
  "quit now please",
])("%j is no request", (text) => {
  expect(parseRequestLine(text)).toBeUndefined();
});
