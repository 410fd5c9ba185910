const UNITS = ["bytes", "KB", "MB", "GB", "TB"];

/** As in `12.5 MB`: 1 KB is 1,024 bytes. */
export function formatBytes(bytes: number): string {
  const power = bytes < 1_024 ? 0 : Math.min(UNITS.length - 1, Math.floor(Math.log2(bytes) / 10));
  const number = bytes / 1_024 ** power;
  return `${number < 10 && power > 0 ? number.toFixed(1) : Math.round(number)} ${UNITS[power]}`;
}

/** As in `4 min`: seconds in the largest unit of which there is at least one. */
export function formatSeconds(seconds: number): string {
  if (seconds < 60) return `${Math.round(seconds)} s`;
  if (seconds < 3_600) return `${Math.round(seconds / 60)} min`;
  return seconds < 86_400
    ? `${Math.round(seconds / 3_600)} h`
    : `${Math.round(seconds / 86_400)} d`;
}

/** As in `1 key`, `12 keys`. */
export function count(number: number, one: string, many: string = `${one}s`): string {
  return `${number.toLocaleString("en-US")} ${number === 1 ? one : many}`;
}
