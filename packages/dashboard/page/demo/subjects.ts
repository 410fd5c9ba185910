import type { SubjectInLimiter, SubjectOf, SubjectView } from "../../src/api.ts";
import { blocksAt, deniedAt, logAt, overridesAt } from "./control.ts";

const SKIPPED = [
  { name: "api", needs: "counts user (by a function of the application)" },
  { name: "language-model", needs: "counts tenant (by a function of the application)" },
];

/** What the limiters say of some clients. */
export function subjectsAt(at: number): Readonly<Record<string, SubjectView>> {
  const views = [attacker(at), partner(at), calm(at), importer(at), networkDenied(at)];
  return Object.fromEntries(views.map((view) => [view.asked, view]));
}

function attacker(at: number): SubjectView {
  const subject = { default: "203.0.113.250" };
  return {
    at,
    asked: "203.0.113.250",
    denyList: [],
    skipped: SKIPPED,
    limiters: [
      ...deniedIn(at, subject),
      shadowed(at, subject),
      quiet("search", subject, "search", "30 at once, 5 more every 1 s", 30),
      quiet("password-reset", subject, "5-per-1h", "5 per 1 h", 5),
    ],
  };
}

function deniedIn(at: number, subject: SubjectOf): readonly SubjectInLimiter[] {
  return [
    {
      name: "login",
      dimension: "default",
      subject,
      allowed: false,
      shadow: false,
      deniedBy: "burst",
      until: at + 8_400,
      blocked: [],
      history: logAt(at)
        .filter(({ kind }) => kind === "unblock")
        .map((row) => ({ ...row, subject })),
      limits: [
        {
          limit: "burst",
          per: "default",
          words: "burst: 20 per 10 seconds for each client (gcra)",
          most: 20,
          used: 20,
          remaining: 0,
          allowed: false,
          allowsAt: at + 8_400,
          unusedAt: at + 10_000,
        },
        {
          limit: "5-per-15m",
          per: "default",
          words: "5 per 15 minutes for each client (gcra)",
          most: 5,
          used: 3,
          remaining: 2,
          allowed: true,
          allowsAt: null,
          unusedAt: at + 540_000,
        },
      ],
    },
    {
      name: "signup",
      dimension: "default",
      subject,
      allowed: false,
      shadow: false,
      deniedBy: "block",
      until: at + 38 * 60_000,
      blocked: blocksAt(at)
        .filter(({ limiter }) => limiter === "signup")
        .map((block) => ({ ...block, subject })),
      history: [],
      limits: [
        {
          limit: "3-per-1h",
          per: "default",
          words: "3 per hour for each client, blocks for 1 hour (gcra)",
          most: 3,
          used: 3,
          remaining: 0,
          allowed: false,
          allowsAt: at + 38 * 60_000,
          unusedAt: at + 3_500_000,
        },
      ],
    },
  ];
}

function shadowed(at: number, subject: SubjectOf): SubjectInLimiter {
  return {
    name: "downloads",
    dimension: "default",
    subject,
    allowed: true,
    shadow: true,
    blocked: [],
    history: [],
    limits: [
      {
        limit: "new-limit",
        per: "default",
        words: "new-limit: 40 per minute for each client (gcra)",
        most: 40,
        used: 40,
        remaining: 0,
        allowed: false,
        allowsAt: at + 1_500,
        unusedAt: at + 60_000,
      },
    ],
  };
}

function quiet(
  name: string,
  subject: Readonly<Record<string, string>>,
  limit: string,
  words: string,
  most: number,
): SubjectInLimiter {
  return {
    name,
    dimension: Object.keys(subject)[0] ?? "default",
    subject,
    allowed: true,
    shadow: false,
    blocked: [],
    history: [],
    limits: [
      {
        limit,
        per: "default",
        words,
        most,
        used: 0,
        remaining: most,
        allowed: true,
        allowsAt: null,
        unusedAt: null,
      },
    ],
  };
}

function partner(at: number): SubjectView {
  const subject = { user: "partner-7" };
  const api = quiet("api", subject, "per-user", "2,400 per 1 min, burst 100", 2_400);
  const override = overridesAt(at)[0];
  const limits = api.limits.map((row) => ({
    ...row,
    used: 1_182,
    remaining: 1_218,
    unusedAt: at + 29_000,
  }));
  return {
    at,
    asked: "partner-7",
    denyList: [],
    skipped: [],
    limiters: [
      {
        ...api,
        limits,
        ...(override ? { override } : {}),
        history: logAt(at).filter((row) => row.subject?.["user"] === "partner-7"),
      },
      quiet("checkout", subject, "checkout", "10 per 1 min", 10),
    ],
  };
}

function calm(at: number): SubjectView {
  const subject = { default: "198.51.100.7" };
  return {
    at,
    asked: "198.51.100.7",
    denyList: [],
    skipped: SKIPPED,
    limiters: [
      quiet("login", subject, "burst", "20 per 10 s", 20),
      quiet("search", subject, "search", "30 at once, 5 more every 1 s", 30),
    ],
  };
}

function importer(at: number): SubjectView {
  const subject = { user: "acme-batch-import" };
  return {
    at,
    asked: "acme-batch-import",
    denyList: [],
    skipped: [],
    limiters: [
      {
        ...quiet("export", subject, "2-at-a-time", "2 at a time", 2),
        allowed: false,
        deniedBy: "block",
        until: at + 23 * 3_600_000,
        blocked: blocksAt(at).filter(({ limiter }) => limiter === "export"),
        history: logAt(at).filter(({ limiter }) => limiter === "export"),
      },
    ],
  };
}

function networkDenied(at: number): SubjectView {
  return {
    at,
    asked: "192.0.2.114",
    denyList: deniedAt(at).slice(0, 1),
    skipped: SKIPPED,
    limiters: [
      {
        ...quiet(
          "search",
          { default: "192.0.2.114" },
          "search",
          "30 at once, 5 more every 1 s",
          30,
        ),
        allowed: false,
        deniedBy: "deny list",
        until: at + 15 * 3_600_000,
      },
    ],
  };
}
