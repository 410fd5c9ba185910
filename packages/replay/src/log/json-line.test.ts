import { describe, expect, test } from "vitest";
import { parseJsonLine } from "./json-line.ts";

const TIME = Date.UTC(2026, 2, 3, 5, 0, 7);

function timeOf(ts: unknown) {
  return parseJsonLine(JSON.stringify({ ts, ip: "192.0.2.1" }), { time: "ts", client: "ip" });
}

test.each([
  ["2026-03-03T05:00:07Z", 0],
  ["2026-03-03T06:00:07+01:00", 0],
  ["2026-03-03T06:00:07.250+0100", 250],
  ["2026-03-03 05:00:07,250", 250],
  [TIME / 1_000, 0],
  [TIME / 1_000 + 0.25, 250],
  [TIME, 0],
  [TIME + 0.9, 0],
  [String(TIME), 0],
  [`${TIME / 1_000}.250`, 250],
  ["03/Mar/2026:06:00:07 +0100", 0],
])("the time %j is read", (ts, ms) => {
  expect(timeOf(ts)).toMatchObject({ time: TIME + ms });
});

test.each([
  "",
  "yesterday",
  "2026-13-03T05:00:07Z",
  "2026-03-03",
  null,
  true,
  {},
  -1,
  1e15,
  "03/Mar/2026:06:00:07",
])("%j is not a time", (ts) => {
  expect(timeOf(ts)).toBe("no time in the field ts");
});

describe("fields", () => {
  const fields = { time: "ts", client: "request.remote_ip", method: "m", path: "p" };

  test("are found by name, also in nested records", () => {
    const line = JSON.stringify({
      ts: TIME,
      request: { remote_ip: "192.0.2.1" },
      m: "GET",
      p: "/a",
    });
    const request = { time: TIME, client: "192.0.2.1", method: "GET", path: "/a" };
    expect(parseJsonLine(line, fields)).toEqual(request);
    expect(
      parseJsonLine(JSON.stringify({ ts: TIME, "request.remote_ip": "192.0.2.1" }), fields),
    ).toEqual({ ...request, method: "", path: "" });
  });

  test.each([
    ["no JSON object", "192.0.2.1 - -"],
    ["no JSON object", "7"],
    ["no JSON object", '{"ts":'],
    ["no client in the field request.remote_ip", `{"ts":${TIME}}`],
    ["no client in the field request.remote_ip", `{"ts":${TIME},"request":"192.0.2.1"}`],
    ["no client in the field request.remote_ip", `{"ts":${TIME},"request":{"remote_ip":""}}`],
  ])("a malformed line has the reason: %s", (reason, line) => {
    expect(parseJsonLine(line, fields)).toBe(reason);
  });
});
