/**
 * Metrics of limiters, breakers and load shedders, for OpenTelemetry and Prometheus.
 * @packageDocumentation
 */

export type { Observation, ObserveOptions } from "./observe.ts";
export { observe } from "./observe.ts";
export type { OpenTelemetryMeter } from "./opentelemetry.ts";
export type { PrometheusRegistry } from "./prometheus.ts";
