import { AsyncResource } from "node:async_hooks";

/**
 * An async context outside of any request, from the moment this module is loaded: what many requests share runs in it, and keeps none of
 * their contexts.
 */
export const nobody: AsyncResource = new AsyncResource("HeadgateNobody");
