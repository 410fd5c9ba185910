export type { ControlRecord, Order, Override, OverrideNumbers } from "../control/record.ts";
export { readRecord } from "../control/record.ts";
export type {
  BreakerRecord,
  HttpUse,
  LimiterRecord,
  ListedShape,
  SubjectSource,
} from "../limiter/directory/directory.ts";
export type {
  Directory,
  DirectoryBreaker,
  DirectoryLimiter,
  DirectoryProcess,
  UnreadRecord,
} from "./directory.ts";
export type { ReadDirectoryOptions } from "./read-directory.ts";
export { readDirectory } from "./read-directory.ts";
