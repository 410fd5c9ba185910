import type { Observation, ObserveOptions } from "@headgate/telemetry";
import { observe } from "@headgate/telemetry";
import { metrics } from "@opentelemetry/api";
import type { OpenMetricsContentType } from "prom-client";
import { Registry, register } from "prom-client";

const options: ObserveOptions = { routes: true, targets: false };
const observation: Observation = observe(metrics.getMeter("headgate"), options);
observation.stop();
observe(register).stop();
observe(new Registry<OpenMetricsContentType>()).stop();
// @ts-expect-error neither a meter nor a registry
observe({ record: () => {} });
// @ts-expect-error a misspelt option
observe(register, { route: true });
