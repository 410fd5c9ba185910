import type { Limiter } from "@headgate/core";
import { areReady } from "@headgate/core/http";
import type { FastifyInstance } from "fastify";

/** Fastify's own default, in milliseconds. */
const PLUGIN_TIMEOUT_MS = 10_000;

/**
 * Prepares the stores of limiters for the first request. A store that is away does not keep the application from starting, nor does one
 * that takes half of the time that Fastify gives a hook.
 */
export async function awaitStores(
  { initialConfig }: FastifyInstance,
  limiters: readonly Limiter[],
): Promise<void> {
  const { pluginTimeout = PLUGIN_TIMEOUT_MS } = initialConfig;
  const ready = areReady(limiters).catch(() => false);
  if (pluginTimeout === 0) return void (await ready);
  let timer: NodeJS.Timeout | undefined;
  const over = new Promise((resolve) => {
    timer = setTimeout(resolve, pluginTimeout / 2);
  });
  await Promise.race([ready, over]);
  clearTimeout(timer);
}
