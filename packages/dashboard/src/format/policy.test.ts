import { expect, test } from "vitest";
import { formatHttpUse } from "./policy.ts";

test.each([
  [{ ipv6Prefix: 64 }, "express: by address (IPv6 by /64); without a key: by address"],
  [
    { ipv6Prefix: 56, ipv4Prefix: 24 },
    "express: by address (IPv4 by /24, IPv6 by /56); without a key: by address",
  ],
])("the use of a limiter names the networks that count as one client: %j", (prefixes, text) => {
  const keys = { default: { by: "ip", ...prefixes } } as const;
  expect(formatHttpUse({ adapter: "express", keys, missingKey: "ip" })).toBe(text);
});
