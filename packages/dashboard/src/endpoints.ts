import type { Visitor } from "./access/visitor.ts";
import type { Session } from "./api.ts";
import type { Span } from "./counts.ts";
import { SPANS } from "./counts.ts";
import type { Dashboard } from "./dashboard.ts";
import type { FleetReader } from "./fleet-reader.ts";
import { badRequest } from "./serve/http-error.ts";
import { buildBreakersView } from "./views/breakers.ts";
import { buildControlView } from "./views/control.ts";
import { buildLimiterView } from "./views/limiter.ts";
import { buildLogView } from "./views/log.ts";
import { buildOverview, chooseSpan, loadOverviewData } from "./views/overview.ts";
import { buildRedisView } from "./views/redis.ts";
import { buildSubjectView } from "./views/subject.ts";
import { parseLookup } from "./views/subject-lookup.ts";

/** The context of a request to an endpoint: the dashboard, and a reader of the data that this visitor may see. */
export interface EndpointContext {
  readonly dashboard: Dashboard;
  readonly visitor: Visitor;
  readonly reader: FleetReader;
}

/** An endpoint for GET, with a query. */
type ReadEndpoint = (context: EndpointContext, query: URLSearchParams) => object | Promise<object>;

/** An endpoint for POST, with a body; only for requests from the page itself. */
type WriteEndpoint = (context: EndpointContext, body: Record<string, unknown>) => Promise<object>;

/** The endpoints below `api/` for reading. */
export const READ_ENDPOINTS: Readonly<Record<string, ReadEndpoint>> = {
  // The page loads it first; it does not need Redis.
  session({
    dashboard: { prefix, title, doctor, runbook },
    visitor: { by, actions, isRestricted },
  }): Session {
    const hasDoctor = doctor !== undefined && !isRestricted;
    return { by, actions, prefix, title, pollMs: 5_000, hasDoctor, runbook: runbook ?? null };
  },
  async overview({ dashboard, visitor, reader }, query) {
    const span = query.has("span") ? parseSpan(query) : await chooseSpan(reader);
    const load = async () => {
      // All others share one result.
      if (visitor.isRestricted) await dashboard.readBudget.spend(visitor, VIEW_LOOKUPS);
      return loadOverviewData(reader, span);
    };
    return reader.shareResult(`overview ${span}`, load, buildOverview);
  },
  async limiter({ dashboard, visitor, reader }, query) {
    const name = query.get("name");
    if (name === null || name === "") throw badRequest("name must be the name of a limiter");
    await dashboard.readBudget.spend(visitor, VIEW_LOOKUPS);
    return buildLimiterView(reader, name, parseSpan(query));
  },
  breakers: ({ dashboard, reader }) => buildBreakersView(reader, dashboard.createBreaker),
  control: ({ reader }) => buildControlView(reader),
  log: ({ reader }, query) => buildLogView(reader, query.get("before")),
  redis: ({ dashboard, visitor, reader }) => buildRedisView(reader, visitor, dashboard.doctor),
};

/** The endpoints below `api/` with a body. */
export const WRITE_ENDPOINTS: Readonly<Record<string, WriteEndpoint>> = {
  async subject({ dashboard, visitor, reader }, body) {
    await dashboard.readBudget.requireNotRefused(visitor);
    return buildSubjectView(reader, parseLookup(body, dashboard.hashSecret), (units) =>
      dashboard.readBudget.spend(visitor, units),
    );
  },
  async preview({ dashboard, visitor, reader }, body) {
    await dashboard.readBudget.spend(visitor, PREVIEW_LOOKUPS);
    return dashboard.actions.preview(reader, visitor, body);
  },
  act: ({ dashboard, visitor, reader }, body) => dashboard.actions.act(reader, visitor, body),
};

/** In lookups of a limiter. */
const VIEW_LOOKUPS = 10;
const PREVIEW_LOOKUPS = 5;

function parseSpan(query: URLSearchParams): Span {
  const given = query.get("span") ?? "1h";
  const span = SPANS.find((one) => one === given);
  if (span === undefined) throw badRequest(`span must be ${SPANS.join(", ")}`);
  return span;
}
