export type { ControlRecord, Order, Override, OverrideNumbers } from "../control/record.ts";
export { checkOverride } from "../limiter/overrides/check-override.ts";
export type { OperateOptions } from "./operate.ts";
export { operate } from "./operate.ts";
export type {
  Action,
  ActionLog,
  ActionOptions,
  Inspection,
  LogEntry,
  NewOverride,
  OperatedLimiter,
  Operator,
  OverrideOptions,
  OverridePlace,
} from "./operator.ts";
