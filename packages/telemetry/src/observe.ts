import { HeadgateError } from "@headgate/core";
import { measureBreakers } from "./breakers.ts";
import { measureDecisions, measureSlotUse } from "./limiters.ts";
import type { OpenTelemetryMeter } from "./opentelemetry.ts";
import { writeToMeter } from "./opentelemetry.ts";
import { measureOutgoingCalls } from "./outgoing-calls.ts";
import type { MetricsOutput, Subscription } from "./output.ts";
import { SeriesBudget, subscribeAll } from "./output.ts";
import type { PrometheusRegistry } from "./prometheus.ts";
import { writeToRegistry } from "./prometheus.ts";
import { measureServers } from "./servers.ts";
import { measureShedders } from "./shedders.ts";

/** Options of `observe`. */
export interface ObserveOptions {
  /** Whether decisions have the label `route`: the method and the route as the application wrote it. Default false. */
  readonly routes?: boolean | undefined;
  /** Whether the metrics of breakers have the label `target`. Default false. */
  readonly targets?: boolean | undefined;
}

/** A running observation, as `observe` returns it. */
export interface Observation {
  /** Stops measuring, and removes the instruments. Calling it twice does no harm. */
  stop(): void;
}

/** The meters and registries with a running observation. */
const observed = new WeakSet<object>();

/**
 * Measures all limiters, breakers, load shedders and calls through `limitFetch` of this process, into an OpenTelemetry meter or a
 * prom-client registry. Throws `HEADGATE_INVALID_OPTION`, also for a meter or registry that is already observed, and prom-client's
 * error for a name that another metric has.
 */
export function observe(
  target: OpenTelemetryMeter | PrometheusRegistry,
  options: ObserveOptions = {},
): Observation {
  const { routes = false, targets = false } = readOptions(options);
  const output = createOutput(target);
  if (observed.has(target)) {
    throw invalidOption(
      "this meter or registry is already observed; call stop() of that observation first",
    );
  }
  const measures = { output, budget: new SeriesBudget() };
  let subscriptions: readonly Subscription[];
  try {
    subscriptions = [
      ...measureDecisions(measures, routes),
      ...measureServers(measures),
      ...measureSlotUse(measures),
      ...measureBreakers(measures, targets),
      ...measureOutgoingCalls(measures),
      ...measureShedders(measures),
    ];
  } catch (error) {
    output.remove();
    throw error;
  }
  const stopListening = subscribeAll(subscriptions);
  observed.add(target);
  let isStopped = false;
  return {
    stop() {
      if (isStopped) return;
      isStopped = true;
      stopListening();
      output.remove();
      observed.delete(target);
    },
  };
}

function createOutput(target: unknown): MetricsOutput {
  const { createObservableGauge, registerMetric } = (target ?? {}) as Partial<
    OpenTelemetryMeter & PrometheusRegistry
  >;
  if (typeof createObservableGauge === "function")
    return writeToMeter(target as OpenTelemetryMeter);
  if (typeof registerMetric === "function") return writeToRegistry(target as PrometheusRegistry);
  throw invalidOption(
    `the first argument must be an OpenTelemetry meter or a prom-client registry, got ${formatKind(target)}`,
  );
}

const OPTIONS: readonly string[] = ["routes", "targets"] satisfies (keyof ObserveOptions)[];

function readOptions(options: ObserveOptions): ObserveOptions {
  if (typeof options !== "object" || options === null || Array.isArray(options)) {
    throw invalidOption(`options must be an object, got ${formatKind(options)}`);
  }
  for (const [option, value] of Object.entries(options)) {
    if (!OPTIONS.includes(option)) {
      throw invalidOption(
        `unknown option ${JSON.stringify(option)}; it takes ${OPTIONS.join(", ")}`,
      );
    }
    if (value !== undefined && typeof value !== "boolean") {
      throw invalidOption(`${option} must be true or false, got ${formatKind(value)}`);
    }
  }
  return options;
}

function formatKind(value: unknown): string {
  return value === null ? "null" : typeof value;
}

function invalidOption(rule: string): HeadgateError {
  return new HeadgateError("HEADGATE_INVALID_OPTION", `observe: ${rule}`);
}
