// One application in a process of its own.
import { subscribe } from "node:diagnostics_channel";
import { CHANNELS } from "@headgate/core";
import { openClient } from "../clients.mjs";
import { answer, readSetup } from "../other-process.mjs";

/** Fails for decisions without the store, which the benchmark does not measure. */
subscribe(CHANNELS.degraded, ({ reason }) => {
  throw reason;
});

process.env["NODE_ENV"] = "production";

const setup = readSetup();
const client = setup.variant.endsWith("Redis")
  ? await openClient("ioredis", setup.redisPort)
  : undefined;
const { serve } = await import(`./${setup.framework}.mjs`);
const port = await serve({ ...setup, client });

answer({
  port: () => port,
  cpuMicroseconds() {
    const { user, system } = process.cpuUsage();
    return user + system;
  },
});
