import type { JSX } from "preact";
import type { Route } from "../route.ts";
import { Breakers } from "./breakers.tsx";
import { Control } from "./control/control.tsx";
import { Limiter } from "./limiter/limiter.tsx";
import { Limiters } from "./limiter/limiters.tsx";
import { Log } from "./log.tsx";
import { OverviewView } from "./overview/overview.tsx";
import { RedisFindings } from "./redis.tsx";
import { ReportView } from "./report/report.tsx";
import { SubjectSearch } from "./subject/subject.tsx";

/** The view in the URL. */
export function CurrentView({ route }: { route: Route }): JSX.Element {
  switch (route.view) {
    case "overview":
      return <OverviewView route={route} />;
    case "limiter":
      return route.params["name"] === undefined ? (
        <Limiters route={route} />
      ) : (
        <Limiter route={route} name={route.params["name"]} />
      );
    case "subject":
      return <SubjectSearch route={route} />;
    case "breakers":
      return <Breakers />;
    case "control":
      return <Control />;
    case "log":
      return <Log route={route} />;
    case "redis":
      return <RedisFindings />;
    case "report":
      return <ReportView />;
  }
}
