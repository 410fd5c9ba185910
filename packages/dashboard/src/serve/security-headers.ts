/**
 * On every answer. Nothing is foreign, and only one script is inline: the one of `index.html` with this hash. No page of another origin
 * may frame, read or load it.
 */
export const SECURITY_HEADERS = {
  "content-security-policy":
    "default-src 'none'; script-src 'self' 'sha256-U2qc3Jb4LJf3YajfzS2sqBmSe1pm0g79N7+y+EEf1yM='; style-src 'self'; img-src 'self' data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-resource-policy": "same-origin",
} as const;
