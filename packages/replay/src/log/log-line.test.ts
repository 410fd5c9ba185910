import { expect, test } from "vitest";
import { parseLogLine, StringCache } from "./log-line.ts";

const TIME = "[03/Mar/2026:06:00:07 +0100]";

const REQUEST = {
  time: Date.UTC(2026, 2, 3, 5, 0, 7),
  client: "192.0.2.1",
  method: "GET",
  path: "/a",
};

const strings = new StringCache();

/** Parses a line that stands among others. */
function parse(line: string) {
  const bytes = Buffer.from(`"before" [\n${line}\n"behind"`);
  const start = bytes.indexOf("\n") + 1;
  return parseLogLine(bytes, start, bytes.lastIndexOf("\n"), strings);
}

test.each([
  ["the common format", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200 2326`],
  ["an identity and a user", `192.0.2.1 ident frank ${TIME} "GET /a HTTP/1.1" 200 2326`],
  ["a user with a space", `192.0.2.1 - frank miller ${TIME} "GET /a HTTP/1.1" 200 2326`],
  ["another version", `192.0.2.1 - - ${TIME} "GET /a HTTP/2" 200 2326`],
  ["no version", `192.0.2.1 - - ${TIME} "GET /a" 200 2326`],
  [
    "the combined format",
    `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200 5 "https://www.example.com/" "Agent/1.0 (x; y)"`,
  ],
  [
    "quotes in the agent",
    String.raw`192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200 5 "-" "say \"hello\" \\"`,
  ],
  [
    "fields after the combined format",
    `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200 5 "-" "-" "198.51.100.1" 0.003`,
  ],
])("a line of %s is read", (_, line) => {
  expect(parse(line)).toMatchObject(REQUEST);
});

test("the agent of the combined format is read, and none of the common format", () => {
  const line = `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200 5`;
  expect(parse(`${line} "https://www.example.com/" "Agent/1.0 (x; y)" "-"`)).toEqual({
    ...REQUEST,
    agent: "Agent/1.0 (x; y)",
  });
  expect(parse(line)).toEqual(REQUEST);
});

test.each([
  [`"GET /a HTTP/1.1" 304 -`, {}],
  [`"GET /a HTTP/1.1" - -`, {}],
  [`"M-SEARCH * HTTP/1.1" 200 5`, { method: "M-SEARCH", path: "*" }],
  [`"get http://b.example/a?b HTTP/1.1" 200 5`, { method: "get", path: "http://b.example/a?b" }],
  [`"CONNECT b.example:443 HTTP/1.1" 200 5`, { method: "CONNECT", path: "b.example:443" }],
  [`"GET /two words HTTP/1.1" 200 5`, { path: "/two words" }],
  [`"GET /HTTP/1.1 HTTP/1.x" 200 5`, { path: "/HTTP/1.1 HTTP/1.x" }],
  [`"GET / HTTP/1.1" 200 5`, { path: "/" }],
  [`"GET /grüße HTTP/1.1" 200 5`, { path: "/grüße" }],
  [String.raw`"GET /a\"b\\c\x0a HTTP/1.1" 200 5`, { path: String.raw`/a\"b\\c\x0a` }],
])("the line with %s is read", (rest, fields) => {
  expect(parse(`192.0.2.1 - - ${TIME} ${rest}`)).toEqual({ ...REQUEST, ...fields });
});

test.each(["2001:db8::1", "::ffff:192.0.2.1", "gateway.office.example", "höst.example"])(
  "%s is a client",
  (client) => {
    const line = `${client} - - ${TIME} "GET /a HTTP/1.1" 200 5`;
    for (const parsed of [parse(line), parse(line)]) expect(parsed).toEqual({ ...REQUEST, client });
  },
);

test.each([
  ["neither", "# log rotated"],
  ["neither", "192.0.2.1"],
  ["neither", `192.0.2.1 - ${TIME} "GET /a HTTP/1.1" 200 5`],
  ["neither", `192.0.2.1  - ${TIME} "GET /a HTTP/1.1" 200 5`],
  ["neither", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200`],
  ["neither", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 20 5`],
  ["neither", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200 5x`],
  ["neither", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200 5  7`],
  ["neither", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200 5 "-" "cut of`],
  ["neither", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200 5 "-" "cut off\\"`],
  ["neither", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1`],
  ["neither", `192.0.2.1 - - ${TIME} "GET ${'\\"'.repeat(500_000)}`],
  ["time", `192.0.2.1 - - [03/Mar/2026 06:00:07] "GET /a HTTP/1.1" 200 5`],
  ["client", `- - - ${TIME} "GET /a HTTP/1.1" 200 5`],
  ["client", `${"a".repeat(256)} - - ${TIME} "GET /a HTTP/1.1" 200 5`],
  ...["-", "", "GET", "GET ", "/index.html", String.raw`\x16\x03\x01\x02`, "HELO mail"].map(
    (request) => ["request", `192.0.2.1 - - ${TIME} "${request}" 408 -`],
  ),
])("a malformed line has the reason: %s", (word, line) => {
  expect(parse(line)).toContain(word);
});
