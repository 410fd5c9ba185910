import { createLimiter, fixedWindow } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import { redisStore } from "@headgate/core/redis";
import { describe, expect, onTestFinished, test } from "vitest";
import type { LimiterSummary, SubjectView } from "../../packages/dashboard/src/api.ts";
import { nodeMount } from "../dashboard/support/mounts.ts";
import { api } from "../dashboard/support/send-request.ts";
import { sendUsage } from "../support/send-usage.ts";
import { writeRegistry } from "../support/write-registry.ts";
import { useHeadgate } from "./actions/use-headgate.ts";

const own = useHeadgate();

const LIMITS = fixedWindow({ limit: 3, window: "1h", block: "10m" });

/** Limiters of each kind, whose usage is reported, and the dashboard's page. */
async function start() {
  const store = redisStore(own.client, { usage: { subjects: "plain" } });
  const make = (name: string, more: Partial<Parameters<typeof createLimiter>[0]> = {}) => {
    const common = { name, limits: LIMITS, store, denyCache: false, storeTimeout: "10s" } as const;
    const limiter = createLimiter({ ...common, ...more } as Parameters<typeof createLimiter>[0]);
    onTestFinished(() => limiter.close());
    return limiter;
  };
  const limiters = {
    api: make("api"),
    both: make("both", { limits: [LIMITS, { ...LIMITS, limit: 100, per: "global" }] }),
    quota: make("quota", { limits: fixedWindow({ limit: 5, window: "1h", per: "global" }) }),
    trial: make("trial", { limits: fixedWindow({ limit: 1, window: "1h" }), shadow: true }),
    tenants: make("tenants", {
      limits: [
        { ...LIMITS, per: "tenant" },
        { ...LIMITS, per: "user" },
      ],
    }),
  };
  const authorize = () => ({ by: "eve", actions: "all" }) as const;
  return {
    store,
    ...limiters,
    admin: createAdmin(store),
    mount: () => nodeMount.mount({ store, authorize }),
    async report() {
      await writeRegistry(store);
      await sendUsage(store);
    },
  };
}

interface Explained {
  readonly explanations: readonly {
    readonly limiter: string;
    readonly allowed: boolean;
    readonly blocks: readonly object[];
    readonly limits: readonly { readonly name: string; readonly remaining: number }[];
  }[];
  readonly skipped: readonly { readonly limiter: string }[];
  readonly denyList: readonly { readonly network: string }[];
}

/** What the command says of a client, in the form in which the page gets it. */
async function byCommand(subject: string) {
  const { explanations, skipped, denyList } = (await own.json(["explain", subject])) as Explained;
  return {
    limiters: explanations
      .map(({ limiter, allowed, blocks, limits }) => ({
        name: limiter,
        allowed,
        blocks: blocks.length,
        limits: limits.map(({ name, remaining }) => ({ limit: name, remaining })),
      }))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
    skipped: skipped.map(({ limiter }) => limiter),
    denyList: denyList.map(({ network }) => network),
  };
}

async function byPage(page: string, subject: string) {
  const { json } = await api(page, "subject", { subject, kind: "text" });
  const { limiters, skipped, denyList } = json as SubjectView;
  return {
    limiters: limiters
      .map(({ name, allowed, blocks, limits }) => ({
        name,
        allowed,
        blocks: blocks.length,
        limits: limits.map(({ limit, remaining }) => ({ limit, remaining })),
      }))
      .sort((one, other) => (one.name < other.name ? -1 : 1)),
    skipped: skipped.map(({ name }) => name),
    denyList: denyList.map(({ network }) => network),
  };
}

describe("the command and the dashboard agree", () => {
  test("on which limiters deny a client, for each reason", async () => {
    const { report, mount, admin, ...fleet } = await start();
    for (let i = 0; i < 5; i += 1) await fleet.api.consume("denied by a limit");
    for (let i = 0; i < 3; i += 1) await fleet.trial.consume("denied in shadow mode");
    await fleet.both.consume({ default: "allowed", global: "*" });
    await fleet.api.block("blocked by the application", "1h", { reason: "a stolen card" });
    await report();
    const definition = { name: "api", limits: LIMITS };
    await admin.block(definition, "blocked by an operator", "1h", { by: "eve" });
    const subject = { default: "overridden" };
    await admin.setOverride({ limiter: "api", subject, limits: { "3-per-1h": { limit: 0 } } });
    await admin.addToDenyList("203.0.113.0/24");
    const denyingLimiters = new Map<string, readonly string[]>();
    const compare = async (): Promise<void> => {
      const page = await mount();
      for (const client of [
        "allowed",
        "denied by a limit",
        "denied in shadow mode",
        "blocked by the application",
        "blocked by an operator",
        "overridden",
        "203.0.113.7",
      ]) {
        const shown = await byPage(page, client);
        expect(await byCommand(client), client).toEqual(shown);
        const denying = shown.limiters.filter(({ allowed }) => !allowed).map(({ name }) => name);
        denyingLimiters.set(client, denying);
      }
    };
    await compare();
    expect(Object.fromEntries(denyingLimiters)).toEqual({
      allowed: [],
      "denied by a limit": ["api"],
      "denied in shadow mode": [],
      "blocked by the application": ["api"],
      "blocked by an operator": ["api"],
      overridden: ["api"],
      "203.0.113.7": [],
    });
    // A limit for all clients together denies each of them.
    await fleet.quota.consume({ global: "*" }, { cost: 5 });
    await compare();
    expect(denyingLimiters.get("allowed")).toEqual(["quota"]);
    expect(denyingLimiters.get("overridden")).toEqual(["api", "quota"]);
  });

  test("on the decisions of each limiter, on why a policy has several versions, and on whom an action would affect", async () => {
    const { report, mount, ...fleet } = await start();
    for (let i = 0; i < 5; i += 1) await fleet.api.consume("ann");
    for (let i = 0; i < 4; i += 1) await fleet.trial.consume("ann");
    await report();
    const elsewhere = own.client.duplicate();
    onTestFinished(() => elsewhere.disconnect());
    const other = redisStore(elsewhere);
    const limits = fixedWindow({ limit: 9, window: "1h" });
    const second = createLimiter({ name: "api", limits, store: other });
    onTestFinished(() => second.close());
    await writeRegistry(other);
    const page = await mount();

    const top = (await own.json(["top", "--span", "1h"])) as {
      limiters: {
        limiter: string;
        total: { allowed: number; denied: number };
        wouldBeDenied: number;
      }[];
    };
    const { limiters } = (await api(page, "overview?span=1h")).json as {
      limiters: readonly LimiterSummary[];
    };
    const onPage = limiters
      .filter(({ totals: { allowed, denied } }) => allowed + denied > 0)
      // The page shows what a limiter in shadow mode would deny instead of its denials.
      .map(({ name, shadow, totals: { allowed, denied } }) =>
        shadow ? [name, allowed + denied, 0, denied] : [name, allowed, denied, 0],
      );
    expect(
      top.limiters.map(({ limiter, total: { allowed, denied }, wouldBeDenied }) => [
        limiter,
        allowed,
        denied,
        wouldBeDenied,
      ]),
    ).toEqual(onPage);
    expect(onPage).toHaveLength(2);

    const { policies, versionNotes } = (await api(page, "limiter?name=api")).json;
    const listed = (await own.run(["limiters", "--processes"])).stdout;
    expect(listed).toContain(`api has ${policies.length} versions`);
    expect(versionNotes).toHaveLength(3);
    for (const note of versionNotes) expect(listed).toContain(note);

    const action = { kind: "block", limiter: "api", subject: { default: "ann" }, forMs: 3_600_000 };
    const { impact } = (await api(page, "preview", { action })).json;
    const args = ["block", "ann", "1h", "--limiter", "api", "--dry-run"];
    const { stdout } = await own.run(args);
    // Rates are of the minutes since the list began, which pass.
    const withoutNumbers = (text: string) => text.replace(/[\d.]+(?= )/g, "N");
    expect(impact).toContain("a minute");
    expect(withoutNumbers(stdout)).toContain(withoutNumbers(impact));
  });
});
