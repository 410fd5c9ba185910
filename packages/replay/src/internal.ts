// Formats that the command, the dashboard's page and the report share. It runs in browsers, changes with them, and is not an API for
// applications.

export { escapeHidden } from "./format/hidden-text.ts";
export {
  formatBytes,
  formatCount,
  formatPart,
  formatShare,
  formatShortCount,
  pluralize,
  pluralizeInWords,
} from "./format/number.ts";
export type { Shedding, ShedEpisode } from "./format/shedding.ts";
export { formatShed, isShedding, readShedding } from "./format/shedding.ts";
export { formatFromNow, formatMeasured, formatSpan, formatUtcTime } from "./format/time.ts";
export { formatEvictionCaveat, formatLogCaveats, formatOrder } from "./log/log-notes.ts";
export { formatMalformedLine } from "./log/malformed-line.ts";
