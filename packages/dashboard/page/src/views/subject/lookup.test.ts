import { describe, expect, test } from "vitest";
import { formatClient, kindOf, lookupFromParams, paramsOfLookup } from "./lookup.ts";

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
