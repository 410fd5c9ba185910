import { describe, expect, test } from "vitest";
import { headerValue } from "./client.ts";

describe("request headers", () => {
  test("a header is found in the headers of Node", () => {
    const headers = { "x-api-key": "one", "x-several": ["one", "two"], "x-none": undefined };
    expect(headerValue(headers, "x-api-key")).toBe("one");
    expect(headerValue(headers, "x-several")).toEqual(["one", "two"]);
    expect(headerValue(headers, "x-none")).toBeUndefined();
    expect(headerValue(headers, "x-other")).toBeUndefined();
  });

  test("a header is found in the Headers of the Fetch API", () => {
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

test("an inherited property is not a header", () => {
  expect(headerValue({}, "constructor")).toBeUndefined();
  expect(headerValue(new Headers(), "constructor")).toBeUndefined();
});

test("a header named get is found", () => {
  const headers = { get: "text", "x-api-key": "one" };
  expect(headerValue(headers, "get")).toBe("text");
  expect(headerValue(headers, "x-api-key")).toBe("one");
});
