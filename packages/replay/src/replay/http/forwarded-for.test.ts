import { expect, test } from "vitest";
import { forwardedFor } from "./sendable-request.ts";

test.each(["192.0.2.1", "2001:db8::1", "fe80::1%eth0", "gateway.office.example", "192.0.2.1:5060"])(
  "the header for %s is the client itself",
  (client) => {
    expect(forwardedFor(client)).toBe(client);
  },
);

test("other texts are escaped, so that they are not a list, and stay distinct", () => {
  expect(forwardedFor("a,b")).toBe("a%2Cb");
  expect(forwardedFor("a%2Cb")).toBe("a%252Cb");
  expect(forwardedFor("höst\u0000")).toBe("h%C3%B6st%00");
});
