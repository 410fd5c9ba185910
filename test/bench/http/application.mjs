// One application in a process of its own.
import { subscribe } from "node:diagnostics_channel";
import { CHANNELS } from "@headgate/core";
import { openClient } from "../clients.mjs";
import { answer, readSetup } from "../other-process.mjs";

/** Not the share of the store is to be measured that it did not have. */
subscribe(CHANNELS.degraded, ({ reason }) => {
  throw reason;
});

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
