import type { Policy } from "@headgate/core";
import { createAdmin } from "@headgate/core/admin";
import type { ActionName } from "@headgate/dashboard";
import type { Redis } from "ioredis";
import { consume, createFleet, THREE_AN_HOUR } from "./fleet.ts";
import type { MountOptions } from "./mounts.ts";
import { nodeMount } from "./mounts.ts";

/** A subject that is denied. */
export const ANN = { limiter: "api", subject: { default: "ann" } };

/** A fleet in which ann is denied, and its page for an operator who may take every action. */
export async function seedDenied(
  client: Redis,
  more: Partial<MountOptions> & { readonly actions?: readonly ActionName[] | "all" } = {},
  limits: Policy = THREE_AN_HOUR,
) {
  const fleet = createFleet(client);
  await consume(fleet.make("api", limits), "ann", 5);
  await fleet.report();
  const { actions = "all", ...rest } = more;
  const options = { store: fleet.store, authorize: () => ({ by: "eve", actions }), ...rest };
  const admin = createAdmin(fleet.store);
  return { fleet, operator: admin, options, page: await nodeMount.mount(options) };
}
