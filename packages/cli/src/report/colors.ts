/** The uses of colours. */
export type ColorRole =
  | "page"
  | "text"
  | "quiet"
  | "line"
  | "shade"
  | "admitted"
  | "denied"
  | "policy";

/** Colours by use: on a light page, and on a dark one. Words have a contrast of 4.5 at least, what is drawn 3. */
export const COLORS: Readonly<Record<ColorRole, readonly [light: string, dark: string]>> = {
  page: ["#ffffff", "#0d1117"],
  text: ["#1f2328", "#e6edf3"],
  quiet: ["#59636e", "#9198a1"],
  line: ["#d1d9e1", "#3d444e"],
  shade: ["#f4f6f8", "#161b22"],
  admitted: ["#1a72d0", "#4c9bf0"],
  denied: ["#b84f00", "#f0883e"],
  policy: ["#8250df", "#b083f0"],
};
