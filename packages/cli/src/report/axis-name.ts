import { colorOf } from "./colors.ts";

/** The name of a horizontal axis, under its middle: what it counts, and in which unit. */
export function nameOfAxis(name: string, gap: number): object {
  return {
    name,
    nameLocation: "middle",
    nameGap: gap,
    nameTextStyle: { color: colorOf("quiet"), fontSize: 12 },
  };
}

/** The name of a vertical axis, above it, where it can be read without turning the head. */
export function nameAbove(name: string, gap: number = 14): object {
  return {
    name,
    nameLocation: "end",
    nameGap: gap,
    nameTextStyle: {
      color: colorOf("quiet"),
      fontSize: 12,
      align: "left",
      padding: [0, 0, 0, -40],
    },
  };
}
