import { fileURLToPath } from "node:url";
import { replay } from "@headgate/replay";
import { expect, test } from "vitest";
import { API_LIMITS } from "./limits.ts";

// {"at":"2026-03-02T09:00:00.000Z","account":"acme","path":"/orders"}
const LAST_WEEK = fileURLToPath(new URL("last-week.jsonl", import.meta.url));

/** Programs that the limits are for. */
const CRAWLERS = ["crawler"];

test("our limits deny none of last week's customers", async () => {
  const { log, policies } = await replay(LAST_WEEK, API_LIMITS, {
    fields: { time: "at", client: "account" },
  });
  expect(log.malformed).toBe(0);
  const denied = policies.flatMap(({ clients }) => clients.map(({ client }) => client));
  expect(denied).toEqual(CRAWLERS);
});
