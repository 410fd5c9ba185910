import { expect, test } from "vitest";
import { COLORS } from "./report-style.ts";

/** https://www.w3.org/TR/WCAG21/#dfn-relative-luminance */
function luminanceOf(color: string): number {
  const [red, green, blue] = [1, 3, 5]
    .map((at) => Number.parseInt(color.slice(at, at + 2), 16) / 255)
    .map((part) => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4)) as [
    number,
    number,
    number,
  ];
  return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
}

function contrastOf(one: string, other: string): number {
  const [dark, light] = [luminanceOf(one), luminanceOf(other)].sort((a, b) => a - b) as [
    number,
    number,
  ];
  return (light + 0.05) / (dark + 0.05);
}

test.each([
  ["light", 0],
  ["dark", 1],
] as const)("on a %s page, text and charts contrast with the background", (_, scheme) => {
  for (const behind of ["page", "shade"] as const) {
    for (const words of ["text", "quiet"] as const) {
      expect(contrastOf(COLORS[words][scheme], COLORS[behind][scheme])).toBeGreaterThan(4.5);
    }
    for (const drawn of ["admitted", "denied", "policy"] as const) {
      expect(contrastOf(COLORS[drawn][scheme], COLORS[behind][scheme])).toBeGreaterThan(3);
    }
  }
});
