import type { Recommendation } from "../recommend/recommendation.ts";
import type { ReplayResult } from "../replay/result.ts";
import { describePolicies } from "./describe-policies.ts";
import { renderPage } from "./page.ts";
import { recommendationReport } from "./recommendation-report.ts";
import { replayReport } from "./replay-report.ts";

/** Renders the report of a replay as one HTML file that has no scripts and loads nothing. */
export function renderReport(result: ReplayResult): string {
  return renderPage(replayReport(describePolicies(result)));
}

/** Renders the report of a recommendation and of the replay that proves it. */
export function renderRecommendation(result: ReplayResult, recommendation: Recommendation): string {
  return renderPage(recommendationReport(describePolicies(result), recommendation));
}
