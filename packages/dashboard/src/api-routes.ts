import type { Visitor } from "./access/visitor.ts";
import { SPANS } from "./api/usage.ts";
import type { Span } from "./api.ts";
import type { Dashboard } from "./dashboard.ts";
import type { Reading } from "./reading.ts";
import { badRequest } from "./serve/refusal.ts";
import { readQuestion } from "./subjects/read-question.ts";
import { viewBreakers } from "./views/breakers.ts";
import { viewControl } from "./views/control.ts";
import { viewLimiter } from "./views/limiter.ts";
import { viewLog } from "./views/log.ts";
import { viewOverview } from "./views/overview.ts";
import { viewRedis } from "./views/redis.ts";
import { viewSession } from "./views/session.ts";
import { viewSubject } from "./views/subject.ts";

/** The input of an endpoint: the dashboard, with the part of its reading that this visitor may see. */
export interface RequestTo {
  readonly dashboard: Dashboard;
  readonly visitor: Visitor;
  readonly reading: Reading;
}

/** An endpoint that reads: GET, with a query. */
type Read = (asking: RequestTo, query: URLSearchParams) => object | Promise<object>;

/** An endpoint with a body, only for requests from the page itself: POST. */
type Write = (asking: RequestTo, body: Record<string, unknown>) => Promise<object>;

/** The endpoints below `api/` for reading. */
export const READS: Readonly<Record<string, Read>> = {
  session: ({ dashboard, visitor }) => viewSession(visitor, dashboard),
  overview({ reading }, query) {
    const span = spanOf(query);
    return reading.made(`overview ${span}`, () => viewOverview(reading, span));
  },
  async limiter({ dashboard, visitor, reading }, query) {
    const name = query.get("name");
    if (name === null || name === "") throw badRequest("name must be the name of a limiter");
    await dashboard.budget.spend(visitor, COST_OF_LIMITER);
    return viewLimiter(reading, name, spanOf(query));
  },
  breakers: ({ dashboard, reading }) => viewBreakers(reading, dashboard.createBreaker),
  control: ({ reading }) => viewControl(reading),
  log: ({ reading }, query) => viewLog(reading, query.get("before")),
  redis: ({ dashboard, visitor, reading }) => viewRedis(reading, visitor, dashboard.doctor),
};

/** The endpoints below `api/` with a body. */
export const WRITES: Readonly<Record<string, Write>> = {
  subject: ({ dashboard, visitor, reading }, body) =>
    viewSubject(reading, readQuestion(body, dashboard.hashSecret), (units) =>
      dashboard.budget.spend(visitor, units),
    ),
  async preview({ dashboard, visitor, reading }, body) {
    await dashboard.budget.spend(visitor, COST_OF_PREVIEW);
    return dashboard.acting.preview(reading, visitor, body);
  },
  act: ({ dashboard, visitor, reading }, body) => dashboard.acting.act(reading, visitor, body),
};

/** In lookups of a limiter. */
const COST_OF_LIMITER = 10;
const COST_OF_PREVIEW = 5;

function spanOf(query: URLSearchParams): Span {
  const given = query.get("span") ?? "1h";
  const span = SPANS.find((one) => one === given);
  if (span === undefined) throw badRequest(`span must be ${SPANS.join(", ")}`);
  return span;
}
