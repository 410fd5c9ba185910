import { expect, test } from "vitest";
import { parseLogLine } from "./log-line.ts";

const TIME = "[03/Mar/2026:06:00:07 +0100]";

const ENTRY = {
  time: Date.UTC(2026, 2, 3, 5, 0, 7),
  client: "192.0.2.1",
  method: "GET",
  path: "/a",
};

test.each([
  ["the common format", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200 2326`],
  ["no bytes", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 304 -`],
  ["an identity and a user", `192.0.2.1 ident frank ${TIME} "GET /a HTTP/1.1" 200 2326`],
  ["a user with a space", `192.0.2.1 - frank miller ${TIME} "GET /a HTTP/1.1" 200 2326`],
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
])("reads %s", (_, line) => {
  expect(parseLogLine(line)).toEqual(ENTRY);
});

test.each(["2001:db8::1", "::ffff:192.0.2.1", "gateway.office.example"])(
  "%s is a client",
  (client) => {
    expect(parseLogLine(`${client} - - ${TIME} "GET /a HTTP/1.1" 200 5`)).toEqual({
      ...ENTRY,
      client,
    });
  },
);

test.each([
  ["neither", "# log rotated"],
  ["neither", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200`],
  ["neither", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1" 200 5 "-" "cut of`],
  ["neither", `192.0.2.1 - - ${TIME} "GET /a HTTP/1.1`],
  ["neither", `192.0.2.1 - - ${TIME} "GET ${'\\"'.repeat(500_000)}`],
  ["time", `192.0.2.1 - - [03/Mar/2026 06:00:07] "GET /a HTTP/1.1" 200 5`],
  ["client", `- - - ${TIME} "GET /a HTTP/1.1" 200 5`],
  ["client", `${"a".repeat(256)} - - ${TIME} "GET /a HTTP/1.1" 200 5`],
  ["request", `192.0.2.1 - - ${TIME} "-" 408 -`],
])("says what is malformed: %s", (word, line) => {
  expect(parseLogLine(line)).toContain(word);
});
