import { describe, expect, test } from "vitest";
import { formatClient } from "./format/text.ts";
import { hrefOf, kindOf, lookupFromParams, paramsOfLookup, parseRoute, spanOf } from "./route.ts";

test.each(["login", "a&b=c#d?e/f", "näme 100%", "__proto__", "a+b c"])(
  "the limiter name %j survives a round trip through the URL",
  (name) => {
    const route = parseRoute(hrefOf("limiter", { name, span: "24h" }));
    expect(route).toMatchObject({ view: "limiter" });
    expect(Object.entries(route.params)).toEqual([
      ["name", name],
      ["span", "24h"],
    ]);
  },
);

test("a URL with half of a character does not throw", () => {
  expect(hrefOf("limiter", { name: "\ud800" })).toBe("#/limiter?name=%EF%BF%BD");
  expect(parseRoute("#/limiter?name=%E0%A4%A").view).toBe("limiter");
});

test("an unknown URL opens the overview of the last hour", () => {
  expect(parseRoute("").view).toBe("overview");
  expect(parseRoute("#/constructor").view).toBe("overview");
  expect(spanOf(parseRoute("#/?span=99y"))).toBe("1h");
  expect(hrefOf("overview", { span: undefined, find: "" })).toBe("#/");
});

test.each([
  ["203.0.113.250", "address"],
  [" 203.0.113.250 ", "address"],
  ["2001:db8::7", "address"],
  ["::1", "address"],
  ["2001:db8::/64", "text"],
  ["user:4711", "text"],
  ["10.0.0", "text"],
  ["ann@example.com", "text"],
])("the search text %j is recognized as %s", (subject, kind) => expect(kindOf(subject)).toBe(kind));

describe("the URL of a subject lookup", () => {
  test("has the address or text, and its kind only where the kind is ambiguous", () => {
    expect(paramsOfLookup({ subject: "10.0.0.1", kind: "address" })).toEqual({
      subject: "10.0.0.1",
      kind: undefined,
      limiter: undefined,
    });
    expect(lookupFromParams({ subject: "10.0.0.1", kind: "text" })).toEqual({
      subject: "10.0.0.1",
      kind: "text",
    });
  });

  test("never has the value of a header, written or read", () => {
    const params = paramsOfLookup({ subject: "secret", kind: "header", header: "x-api-key" });
    expect(JSON.stringify(params)).not.toContain("secret");
    expect(
      lookupFromParams({ subject: "secret", kind: "header", header: "x-api-key" }),
    ).toBeUndefined();
  });
});

test("a lookup result names the address, or the sender of a header", () => {
  expect(formatClient({ kind: "address", address: "10.0.0.1" })).toBe("10.0.0.1");
  expect(formatClient({ kind: "header", header: "x-api-key" })).toBe(
    "The sender of this x-api-key",
  );
});
