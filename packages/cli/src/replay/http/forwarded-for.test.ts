import { expect, test } from "vitest";
import { forwardedFor } from "./sendable-request.ts";

test.each(["192.0.2.1", "2001:db8::1", "fe80::1%eth0", "gateway.office.example", "192.0.2.1:5060"])(
  "%s stands for itself",
  (client) => {
    expect(forwardedFor(client)).toBe(client);
  },
);

test("nothing else can be a list or break the header, and two never become one", () => {
  expect(forwardedFor("a,b")).toBe("a%2Cb");
  expect(forwardedFor("a%2Cb")).toBe("a%252Cb");
  expect(forwardedFor("höst\u0000")).toBe("h%C3%B6st%00");
});
