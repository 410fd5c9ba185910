import type { TrafficShape } from "./traffic.ts";

type Numbers = Readonly<Record<string, number>>;

/** A limit of a demo limiter. */
export interface DemoLimit {
  readonly name: string;
  readonly description: string;
  readonly code: string;
  readonly numbers: Numbers;
  /** Its part of the denials. */
  readonly denialShare: number;
}

/** A limiter of the demo. */
export interface DemoLimiter {
  readonly name: string;
  readonly traffic: TrafficShape;
  readonly limits: readonly DemoLimit[];
  readonly uses: string;
  readonly shadow?: boolean;
  readonly dimension?: string;
  /** The most denied subjects, each with its share of the denials. */
  readonly denied: readonly (readonly [string, number])[];
  readonly used: readonly (readonly [string, number])[];
}

/** The names of windows in the server's texts. */
const WINDOW_NAMES: Readonly<Record<string, string>> = {
  "1s": "second",
  "10s": "10 seconds",
  "1m": "minute",
  "15m": "15 minutes",
  "1h": "hour",
};

const gcra = (
  name: string,
  limit: number,
  window: string,
  denialShare: number,
  burst?: number,
): DemoLimit => ({
  name,
  description: `${limit} per ${WINDOW_NAMES[window] ?? window} for each client${burst === undefined ? "" : `, burst ${burst}`} (gcra)`,
  code: `gcra({ name: "${name}", limit: ${limit}, window: "${window}"${burst === undefined ? "" : `, burst: ${burst}`} })`,
  numbers: { limit, ...(burst === undefined ? {} : { burst }) },
  denialShare,
});

const fixed = (name: string, limit: number, window: string, denialShare: number): DemoLimit => ({
  name,
  description: `${limit.toLocaleString("en-US")} per calendar ${window} for each client, Europe/Berlin (fixedWindow)`,
  code: `fixedWindow({ name: "${name}", limit: ${limit}, window: "${window}", timeZone: "Europe/Berlin" })`,
  numbers: { limit },
  denialShare,
});

const bucket = (
  name: string,
  capacity: number,
  refill: number,
  every: string,
  denialShare: number,
): DemoLimit => ({
  name,
  description: `${capacity} at once, ${refill} more every ${WINDOW_NAMES[every] ?? every} for each client (tokenBucket)`,
  code: `tokenBucket({ name: "${name}", capacity: ${capacity}, refill: ${refill}, every: "${every}" })`,
  numbers: { capacity, refill },
  denialShare,
});

const ATTACKER = "203.0.113.250";

const ADDRESSES = [
  ["198.51.100.23", 0.03],
  ["2001:db8:42:7::/64", 0.02],
  ["192.0.2.114", 0.012],
  ["198.51.100.77", 0.008],
  ["203.0.113.9", 0.004],
] as const;

const USERS = [
  ["user-4711", 0.21],
  ["acme-batch-import", 0.17],
  ["user-1093", 0.09],
  ["partner-7", 0.07],
  ["user-88", 0.03],
] as const;

const HTTP = "fastify: by address (IPv6 by /64); without a key: by address";
const BY_USER = "express: user by a function of the application; without a key: by address";

export const LIMITERS: readonly DemoLimiter[] = [
  {
    name: "login",
    traffic: { rate: 4, denied: 0.02, attackRate: 18 },
    limits: [gcra("burst", 20, "10s", 0.86), gcra("5-per-15m", 5, "15m", 0.14)],
    uses: HTTP,
    denied: [[ATTACKER, 0.91], ...ADDRESSES],
    used: [[ATTACKER, 0.62], ...ADDRESSES],
  },
  {
    name: "api",
    traffic: { rate: 120, denied: 0.011, outageMinutesAgo: 41 },
    limits: [gcra("per-user", 600, "1m", 0.7, 100), fixed("daily", 100_000, "day", 0.3)],
    uses: BY_USER,
    dimension: "user",
    denied: USERS,
    used: [["partner-7", 0.14], ["acme-batch-import", 0.11], ...USERS.slice(2)],
  },
  {
    name: "search",
    traffic: { rate: 36, denied: 0.024 },
    limits: [bucket("search", 30, 5, "1s", 1)],
    uses: HTTP,
    denied: [["198.51.100.23", 0.4], ...ADDRESSES.slice(1)],
    used: ADDRESSES,
  },
  {
    name: "export",
    traffic: { rate: 0.8, denied: 0.18 },
    limits: [
      {
        name: "2-at-a-time",
        description: "2 at a time for each user (concurrency)",
        code: `concurrency({ name: "2-at-a-time", limit: 2 })`,
        numbers: { limit: 2 },
        denialShare: 0.8,
      },
      fixed("monthly", 200, "month", 0.2),
    ],
    uses: BY_USER,
    dimension: "user",
    denied: [
      ["acme-batch-import", 0.71],
      ["user-88", 0.12],
    ],
    used: USERS,
  },
  {
    name: "checkout",
    traffic: { rate: 9, denied: 0.004 },
    limits: [gcra("checkout", 10, "1m", 1)],
    uses: BY_USER,
    dimension: "user",
    denied: USERS.slice(0, 3),
    used: USERS,
  },
  {
    name: "webhooks (outgoing)",
    traffic: { rate: 22, denied: 0.006 },
    limits: [gcra("per-endpoint", 50, "1s", 1)],
    uses: "calls of the application",
    dimension: "endpoint",
    denied: [["https://hooks.example.com/a7", 0.8]],
    used: [
      ["https://hooks.example.com/a7", 0.4],
      ["https://hooks.example.net/orders", 0.2],
    ],
  },
  {
    name: "language-model",
    traffic: { rate: 6, denied: 0.03 },
    limits: [bucket("tokens", 200_000, 3_000, "1s", 0.9), gcra("requests", 60, "1m", 0.1)],
    uses: "calls of the application, at the real cost",
    dimension: "tenant",
    denied: [
      ["tenant-umbrella", 0.6],
      ["tenant-acme", 0.3],
    ],
    used: [
      ["tenant-acme", 0.4],
      ["tenant-umbrella", 0.3],
    ],
  },
  {
    name: "signup",
    traffic: { rate: 0.4, denied: 0.05, attackRate: 0.3 },
    limits: [gcra("3-per-1h", 3, "1h", 1)],
    uses: HTTP,
    denied: [[ATTACKER, 0.7], ...ADDRESSES.slice(0, 2)],
    used: ADDRESSES,
  },
  {
    name: "password-reset",
    traffic: { rate: 0.2, denied: 0.01 },
    limits: [gcra("5-per-1h", 5, "1h", 1)],
    uses: HTTP,
    denied: ADDRESSES.slice(0, 1),
    used: ADDRESSES,
  },
  {
    name: "downloads",
    traffic: { rate: 14, denied: 0.09 },
    limits: [gcra("new-limit", 40, "1m", 1)],
    uses: HTTP,
    shadow: true,
    denied: ADDRESSES,
    used: ADDRESSES,
  },
  {
    name: "graphql",
    traffic: { rate: 48, denied: 0 },
    limits: [bucket("cost", 1_000, 50, "1s", 1)],
    uses: BY_USER,
    dimension: "user",
    denied: [],
    used: USERS,
  },
  {
    name: "internal-status-and-health-checks-of-all-services-behind-the-edge",
    traffic: { rate: 2, denied: 0 },
    limits: [gcra("60-per-1m", 60, "1m", 1)],
    uses: HTTP,
    denied: [],
    used: [["10.0.0.7", 0.5]],
  },
];
