import type { Breaker, BreakerOptions, Snapshot } from "@headgate/breaker";
import { createBreaker } from "@headgate/breaker";
import type { Duration } from "@headgate/core";
import type { BreakerOrderState } from "@headgate/core/admin";
import { breakerOptionsOf, previewOrder, readRegistry } from "@headgate/core/admin";
import { formatSpan, pluralize } from "@headgate/replay/internal";
import type { AddCommand, CommandContext } from "../command/cli.ts";
import { addExamples } from "../command/cli.ts";
import { CommandError, EXIT } from "../command/command-error.ts";
import { readJson } from "../command/option-values.ts";
import type { Connection, ConnectionOptions, Session } from "../connect/connection.ts";
import { addConnectionOptions, withSession } from "../connect/connection.ts";
import { writeJson } from "../output/json.ts";
import { printSection } from "../output/style.ts";
import type { ActionOptions } from "./action.ts";
import { addActionOptions, runTasks } from "./action.ts";

type Options = ConnectionOptions & ActionOptions & { readonly options?: string | undefined };

type Target = ReturnType<Breaker["for"]>;

interface OrderKind {
  apply(target: Target): Promise<void>;
  readonly state: BreakerOrderState;
}

const RESET: OrderKind = { apply: (target) => target.reset(), state: "closed" };

/** The orders by their name on the command line. */
const ORDERS = {
  open: { apply: (target) => target.forceOpen(), state: "forced-open" },
  close: RESET,
  reset: RESET,
  disable: { apply: (target) => target.disable(), state: "disabled" },
  "metrics-only": { apply: (target) => target.metricsOnly(), state: "metrics-only" },
} satisfies Readonly<Record<string, OrderKind>>;

type Order = keyof typeof ORDERS;

/** Callers poll an open target once a second, and read any other target whenever they send outcomes. */
const TARGET_POLL_MS = 1_000;

export const addBreaker: AddCommand = ({ program, context, handle }) => {
  const command = program
    .command("breaker <name> [target] [order]")
    .summary("show the state of a breaker's target, or set it manually")
    .description(
      "Shows the state of a target of a breaker; with an order, sets the state manually in all processes.",
    );
  addExamples(command, {
    "headgate breaker payments": "the state of its default target",
    "headgate breaker payments eu open --reason 'they are down'": "no process calls the target",
    "headgate breaker payments eu reset": "the breaker decides again",
  });
  addActionOptions(addConnectionOptions(command))
    .option(
      "--options <json>",
      "the breaker's options as JSON, or @FILE, if the breaker is not in the registry",
    )
    .addHelpText(
      "after",
      [
        "",
        'The default target is "default". Orders:',
        "  open          let no calls through, until reset",
        "  reset, close  close it, and forget all calls",
        "  disable       let all calls through and count none, until reset",
        "  metrics-only  let all calls through and count them, until reset",
      ].join("\n"),
    )
    .action(
      handle(
        (name: string, target: string | undefined, order: string | undefined, options: Options) =>
          runBreaker(name, target ?? "default", order, options, context),
      ),
    );
};

async function runBreaker(
  name: string,
  target: string,
  order: string | undefined,
  options: Options,
  context: CommandContext,
): Promise<number> {
  if (order !== undefined && !Object.hasOwn(ORDERS, order)) {
    throw new CommandError(
      `the order must be ${Object.keys(ORDERS).join(", ")}, got ${JSON.stringify(order)}`,
    );
  }
  return withSession(options, context, async (session) => {
    const { store, timeoutMs } = session;
    const breaker = createBreaker({
      ...(await findBreaker(session, name, options.options)),
      name,
      store,
      storeTimeout: timeoutMs as Duration,
    });
    try {
      const breakerTarget = breaker.for(target);
      if (order === undefined) return await showTarget(name, breakerTarget, options, context);
      return await runOrder(order as Order, name, breakerTarget, session, options, context);
    } finally {
      await breaker.close();
    }
  });
}

async function showTarget(
  name: string,
  target: Target,
  { json }: Options,
  context: CommandContext,
): Promise<number> {
  const snapshot = await readSnapshot(target);
  const document = { breaker: name, target: target.target, ...snapshot };
  if (json === true) writeJson(context.stdout, document);
  else printSection(context, `${name}, ${target.target}`, formatSnapshot(snapshot));
  return 0;
}

async function runOrder(
  order: Order,
  name: string,
  target: Target,
  { admin, now }: Session,
  options: Options,
  context: CommandContext,
): Promise<number> {
  const act = async () => {
    const { reason, by } = options;
    const before = await readSnapshot(target);
    const preview = previewOrder(before, ORDERS[order].state);
    // Log first: if Redis fails in between, the log has an order to repeat, but no order is in force without an entry.
    const at = await admin.logBreakerAction(
      { breaker: name, target: target.target, before, after: preview },
      { reason, by, dryRun: options.dryRun },
    );
    if (options.dryRun) return { before, after: preview, effectiveAt: new Date(now()) };
    await ORDERS[order].apply(target);
    return {
      before,
      after: await readSnapshot(target),
      effectiveAt: new Date(at.getTime() + TARGET_POLL_MS),
    };
  };
  const task = {
    limiter: name,
    name: `${name}, ${target.target}`,
    run: act,
    format: (snapshot: unknown) => formatSnapshot(snapshot as Snapshot),
  };
  return runTasks(order, [task], options, context);
}

/** The state of a target in all processes. Rejects with a `CommandError` while the store does not answer. */
async function readSnapshot(target: Target): Promise<Snapshot> {
  const snapshot = await target.snapshot();
  if (!snapshot.degraded) return snapshot;
  throw new CommandError("the store does not answer: try again later", EXIT.store);
}

function formatSnapshot(snapshot: Snapshot): readonly string[] {
  const { state, calls, failures, slowCalls, successRate, openings, retryAfterMs } = snapshot;
  const rate = successRate === null ? "" : `, ${Math.floor(successRate * 1_000) / 10} % succeeded`;
  const times =
    openings > 0 ? [openings === 1 ? "opened once" : `opened ${openings} times in a row`] : [];
  const trial = retryAfterMs > 0 ? [`trial calls in ${formatSpan(retryAfterMs)}`] : [];
  return [
    `${state}, ${pluralize(calls, "call")}, ${failures} failed, ${slowCalls} slow${rate}`,
    ...times,
    ...trial,
  ];
}

/** The options of a breaker, from the given JSON or from the registry. Rejects with a `CommandError`. */
async function findBreaker(
  { store, timeoutMs }: Connection,
  name: string,
  json: string | undefined,
): Promise<BreakerOptions> {
  if (json !== undefined)
    return breakerOptionsOf(readJson("--options", json) as Readonly<Record<string, unknown>>);
  const { breakers } = await readRegistry(store, { timeout: timeoutMs });
  const found = breakers.filter((one) => one.name === name);
  const [first] = found;
  if (first === undefined) {
    const names = [...new Set(breakers.map((one) => JSON.stringify(one.name)))].join(", ");
    const there = names === "" ? "which has no breaker" : `which has ${names}`;
    throw new CommandError(
      `no breaker ${JSON.stringify(name)} in the registry, ${there}; if it is not listed, give its options with --options`,
    );
  }
  if (first.isTruncated === true) {
    throw new CommandError(
      `the options of ${JSON.stringify(name)} are too long for the registry: give them with --options @FILE`,
    );
  }
  if (new Set(found.map(({ fingerprint }) => fingerprint)).size > 1) {
    throw new CommandError(
      `processes have ${JSON.stringify(name)} with several windows: give one with --options`,
    );
  }
  return breakerOptionsOf(first.options);
}
