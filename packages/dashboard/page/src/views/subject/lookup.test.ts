import { describe, expect, test } from "vitest";
import { askedInWords, kindOf, lookupFromParams, paramsOfLookup } from "./lookup.ts";

test.each([
  ["203.0.113.250", "address"],
  [" 203.0.113.250 ", "address"],
  ["2001:db8::7", "address"],
  ["::1", "address"],
  ["2001:db8::/64", "text"],
  ["user:4711", "text"],
  ["10.0.0", "text"],
  ["ann@example.com", "text"],
])("%j is taken for an %s", (subject, kind) => expect(kindOf(subject)).toBe(kind));

describe("the URL", () => {
  test("has an address or a text, and says which only where it must", () => {
    expect(paramsOfLookup({ subject: "10.0.0.1", as: "address" })).toEqual({
      subject: "10.0.0.1",
      as: undefined,
      limiter: undefined,
    });
    expect(lookupFromParams({ subject: "10.0.0.1", as: "text" })).toEqual({
      subject: "10.0.0.1",
      as: "text",
    });
  });

  test("never has the value of a header, neither written nor read", () => {
    const params = paramsOfLookup({ subject: "secret", as: "header", header: "x-api-key" });
    expect(JSON.stringify(params)).not.toContain("secret");
    expect(
      lookupFromParams({ subject: "secret", as: "header", header: "x-api-key" }),
    ).toBeUndefined();
  });
});

test("the answer is about the address, or about the sender of a header", () => {
  expect(askedInWords("address 10.0.0.1")).toBe("10.0.0.1");
  expect(askedInWords("header x-api-key")).toBe("The sender of this x-api-key");
});
