export type { ControlRecord, Order, Override, OverrideNumbers } from "../control/record.ts";
export { readRecord } from "../control/record.ts";
