import { fc, test } from "@fast-check/vitest";
import { describe, expect } from "vitest";
import { ipv4Groups, ipv6Groups } from "./client-address.ts";

const group = fc.oneof(fc.constantFrom(0, 0, 1, 0xffff), fc.nat(0xffff));

function dotted(groups: readonly number[]): string {
  return groups.flatMap((one) => [one >> 8, one & 0xff]).join(".");
}

describe("the groups of an address", () => {
  test.prop([fc.tuple(group, group)])(
    "of an IPv4 address are those that it was formatted from",
    (groups) => {
      expect(ipv4Groups(dotted(groups))).toEqual(groups);
    },
  );

  test.prop([fc.array(group, { minLength: 8, maxLength: 8 }), fc.boolean(), fc.boolean()])(
    "of an IPv6 address are those that it was formatted from",
    (groups, isDotted, isUpper) => {
      const hex = groups.map((one) => one.toString(16));
      const end = isDotted ? dotted(groups.slice(6)) : hex.slice(6).join(":");
      const text = `${hex.slice(0, 6).join(":")}:${end}`;
      expect(ipv6Groups(isUpper ? text.toUpperCase() : text)).toEqual(groups);
    },
  );

  test.each([
    ["::", [0, 0, 0, 0, 0, 0, 0, 0]],
    ["::1", [0, 0, 0, 0, 0, 0, 0, 1]],
    ["1::", [1, 0, 0, 0, 0, 0, 0, 0]],
    ["1::2:3", [1, 0, 0, 0, 0, 0, 2, 3]],
    ["1:2:3:4:5:6:7::", [1, 2, 3, 4, 5, 6, 7, 0]],
    ["::2:3:4:5:6:7:8", [0, 2, 3, 4, 5, 6, 7, 8]],
    ["::255.1.0.9", [0, 0, 0, 0, 0, 0, 0xff01, 9]],
    ["1::10.1.2.3", [1, 0, 0, 0, 0, 0, 0xa01, 0x203]],
    ["fE80::aB", [0xfe80, 0, 0, 0, 0, 0, 0, 0xab]],
  ])("of %s are %j", (text, groups) => {
    expect(ipv6Groups(text)).toEqual(groups);
  });
});
