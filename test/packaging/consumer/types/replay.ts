import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { concurrency, gcra } from "@headgate/core";
import type { LogEntry, PolicyResult, Recommendation, ReplayResult } from "@headgate/replay";
import { readLimits, recommend, renderReport, replay } from "@headgate/replay";
import { parseReport } from "@headgate/replay/report";

const limit = gcra({ limit: 100, window: "1m" });
const entries: LogEntry[] = [{ time: 0, client: "192.0.2.1" }];

async function useReplay(): Promise<void> {
  const result: ReplayResult = await replay("access.log", limit);
  const policy: PolicyResult | undefined = result.policies[0];
  const denied: readonly string[] = (policy?.clients ?? []).map(({ client }) => client);
  await replay(
    ["a.log", createReadStream("b.log.gz")],
    [limit, gcra({ limit: 1, window: "1s", per: "global" })],
  );
  await replay(entries, { today: limit, stricter: [limit] });
  await replay(new Set(entries), [{ name: "today", limits: limit }]);
  await replay(createInterface({ input: createReadStream("a.log") }), readLimits({}), {
    fields: { time: "ts", client: "ip" },
    framework: "fastify",
    storeTimeout: "1s",
  });
  const found: Recommendation = await recommend("a.log", { denyAtMost: "1%", of: "clients" });
  const pages: string[] = [renderReport(result), renderReport(found)];
  const markup: string = parseReport(JSON.stringify(found)).content.markup;
  void [denied, pages, markup];
}

async function refused(): Promise<void> {
  // @ts-expect-error a log has no such dimension
  await replay("access.log", gcra({ limit: 1, window: "1s", per: "tenant" }));
  // @ts-expect-error entries have a client
  await replay([{ time: 0 }], limit);
  // @ts-expect-error a share is of clients or requests
  await recommend("a.log", { denyAtMost: "1%", of: "users" });
  // @ts-expect-error no such framework
  await replay("a.log", limit, { framework: "koa" });
  // @ts-expect-error a log does not say how long requests took
  await replay("a.log", concurrency({ limit: 1 }));
}

void [useReplay, refused];
