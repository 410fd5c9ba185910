/** The roles of colors. */
export type ColorRole =
  | "page"
  | "text"
  | "quiet"
  | "line"
  | "shade"
  | "admitted"
  | "denied"
  | "policy";

/** The colors by role, on a light and on a dark page. Text has a contrast of at least 4.5, shapes of at least 3. */
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
