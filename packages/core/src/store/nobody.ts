import { AsyncResource } from "node:async_hooks";

/**
 * The async context of nobody, from the moment this module is loaded: what many requests share runs in it, and keeps none of
 * theirs.
 */
export const nobody: AsyncResource = new AsyncResource("HeadgateNobody");
