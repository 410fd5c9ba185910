import { describe, expect, test } from "vitest";
import { headerValue } from "./client.ts";

describe("a header's value is found", () => {
  test("in the headers of Node's requests", () => {
    const headers = { "x-api-key": "one", "x-several": ["one", "two"], "x-none": undefined };
    expect(headerValue(headers, "x-api-key")).toBe("one");
    expect(headerValue(headers, "x-several")).toEqual(["one", "two"]);
    expect(headerValue(headers, "x-none")).toBeUndefined();
    expect(headerValue(headers, "x-other")).toBeUndefined();
  });

  test("in those of the Fetch API", () => {
    const headers = new Headers([
      ["X-Api-Key", "one"],
      ["X-Several", "one"],
      ["X-Several", "two"],
    ]);
    expect(headerValue(headers, "x-api-key")).toBe("one");
    expect(headerValue(headers, "x-several")).toBe("one, two");
    expect(headerValue(headers, "x-other")).toBeUndefined();
  });
});

test("what an object inherits is no header", () => {
  expect(headerValue({}, "constructor")).toBeUndefined();
  expect(headerValue(new Headers(), "constructor")).toBeUndefined();
});

test("a header named get is a header", () => {
  const headers = { get: "text", "x-api-key": "one" };
  expect(headerValue(headers, "get")).toBe("text");
  expect(headerValue(headers, "x-api-key")).toBe("one");
});
