import { formatClient } from "../../../../packages/dashboard/page/src/format/text.ts";
import type {
  SubjectByDimension,
  SubjectStatus,
  SubjectView,
} from "../../../../packages/dashboard/src/api.ts";
import { blocksAt, deniedAt, logAt, overridesAt } from "./control.ts";

const SKIPPED = [
  { name: "api", countsBy: "counts user (by a function of the application)" },
  { name: "language-model", countsBy: "counts tenant (by a function of the application)" },
];

/** The states of some clients in the limiters. */
export function subjectsAt(at: number): Readonly<Record<string, SubjectView>> {
  const views = [
    attackerView(at),
    partnerView(at),
    allowedView(at),
    importerView(at),
    denyListedView(at),
  ];
  return Object.fromEntries(views.map((view) => [formatClient(view.client), view]));
}

function attackerView(at: number): SubjectView {
  const subject = { default: "203.0.113.250" };
  return {
    at,
    client: { kind: "address", address: "203.0.113.250" },
    denyList: [],
    skipped: SKIPPED,
    limiters: [
      ...deniedStatuses(at, subject),
      shadowStatus(at, subject),
      unusedStatus("search", subject, "search", "30 at once, 5 more every 1 s", 30),
      unusedStatus("password-reset", subject, "5-per-1h", "5 per 1 h", 5),
    ],
  };
}

function deniedStatuses(at: number, subject: SubjectByDimension): readonly SubjectStatus[] {
  return [
    {
      name: "login",
      dimension: "default",
      subject,
      allowed: false,
      wouldDeny: false,
      deniedBy: { kind: "limit", limit: "burst" },
      until: at + 8_400,
      blocks: [],
      history: logAt(at)
        .filter(({ kind }) => kind === "unblock")
        .map((row) => ({ ...row, subject })),
      limits: [
        {
          limit: "burst",
          per: "default",
          description: "burst: 20 per 10 seconds for each client (gcra)",
          capacity: 20,
          used: 20,
          remaining: 0,
          allowed: false,
          nextAllowedAt: at + 8_400,
          hasSlots: false,
          recoversFullyAt: at + 10_000,
        },
        {
          limit: "5-per-15m",
          per: "default",
          description: "5 per 15 minutes for each client (gcra)",
          capacity: 5,
          used: 3,
          remaining: 2,
          allowed: true,
          nextAllowedAt: null,
          hasSlots: false,
          recoversFullyAt: at + 540_000,
        },
      ],
    },
    {
      name: "signup",
      dimension: "default",
      subject,
      allowed: false,
      wouldDeny: false,
      deniedBy: { kind: "block" },
      until: at + 38 * 60_000,
      blocks: blocksAt(at)
        .filter(({ limiter }) => limiter === "signup")
        .map((block) => ({ ...block, subject })),
      history: [],
      limits: [
        {
          limit: "3-per-1h",
          per: "default",
          description: "3 per hour for each client, blocks for 1 hour (gcra)",
          capacity: 3,
          used: 3,
          remaining: 0,
          allowed: false,
          nextAllowedAt: at + 38 * 60_000,
          hasSlots: false,
          recoversFullyAt: at + 3_500_000,
        },
      ],
    },
  ];
}

function shadowStatus(at: number, subject: SubjectByDimension): SubjectStatus {
  return {
    name: "downloads",
    dimension: "default",
    subject,
    allowed: true,
    wouldDeny: true,
    blocks: [],
    history: [],
    limits: [
      {
        limit: "new-limit",
        per: "default",
        description: "new-limit: 40 per minute for each client (gcra)",
        capacity: 40,
        used: 40,
        remaining: 0,
        allowed: false,
        nextAllowedAt: at + 1_500,
        hasSlots: false,
        recoversFullyAt: at + 60_000,
      },
    ],
  };
}

function unusedStatus(
  name: string,
  subject: Readonly<Record<string, string>>,
  limit: string,
  description: string,
  capacity: number,
): SubjectStatus {
  return {
    name,
    dimension: Object.keys(subject)[0] ?? "default",
    subject,
    allowed: true,
    wouldDeny: false,
    blocks: [],
    history: [],
    limits: [
      {
        limit,
        per: "default",
        description,
        capacity,
        used: 0,
        remaining: capacity,
        allowed: true,
        nextAllowedAt: null,
        hasSlots: false,
        recoversFullyAt: null,
      },
    ],
  };
}

function partnerView(at: number): SubjectView {
  const subject = { user: "partner-7" };
  const api = unusedStatus("api", subject, "per-user", "2,400 per 1 min, burst 100", 2_400);
  const override = overridesAt(at)[0];
  const limits = api.limits.map((row) => ({
    ...row,
    used: 1_182,
    remaining: 1_218,
    hasSlots: false,
    recoversFullyAt: at + 29_000,
  }));
  return {
    at,
    client: { kind: "text", text: "partner-7" },
    denyList: [],
    skipped: [],
    limiters: [
      {
        ...api,
        limits,
        ...(override ? { override } : {}),
        history: logAt(at).filter((row) => row.subject?.["user"] === "partner-7"),
      },
      unusedStatus("checkout", subject, "checkout", "10 per 1 min", 10),
    ],
  };
}

function allowedView(at: number): SubjectView {
  const subject = { default: "198.51.100.7" };
  return {
    at,
    client: { kind: "address", address: "198.51.100.7" },
    denyList: [],
    skipped: SKIPPED,
    limiters: [
      unusedStatus("login", subject, "burst", "20 per 10 s", 20),
      unusedStatus("search", subject, "search", "30 at once, 5 more every 1 s", 30),
    ],
  };
}

function importerView(at: number): SubjectView {
  const subject = { user: "acme-batch-import" };
  return {
    at,
    client: { kind: "text", text: "acme-batch-import" },
    denyList: [],
    skipped: [],
    limiters: [
      {
        ...unusedStatus("export", subject, "2-at-a-time", "2 at a time", 2),
        allowed: false,
        deniedBy: { kind: "block" },
        until: at + 23 * 3_600_000,
        blocks: blocksAt(at).filter(({ limiter }) => limiter === "export"),
        history: logAt(at).filter(({ limiter }) => limiter === "export"),
      },
    ],
  };
}

function denyListedView(at: number): SubjectView {
  return {
    at,
    client: { kind: "address", address: "192.0.2.114" },
    denyList: deniedAt(at).slice(0, 1),
    skipped: SKIPPED,
    limiters: [
      {
        ...unusedStatus(
          "search",
          { default: "192.0.2.114" },
          "search",
          "30 at once, 5 more every 1 s",
          30,
        ),
        allowed: false,
        deniedBy: { kind: "denyList" },
        until: at + 15 * 3_600_000,
      },
    ],
  };
}
