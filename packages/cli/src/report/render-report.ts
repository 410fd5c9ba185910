import type { Recommendation } from "../recommend/recommendation.ts";
import type { ReplayResult } from "../replay/result.ts";
import { describePolicies } from "./describe-policies.ts";
import { renderPage } from "./page.ts";
import { recommendationReport } from "./recommendation-report.ts";
import { replayReport } from "./replay-report.ts";

/** The report of a replay as one HTML file, without script, that loads nothing. */
export function renderReport(result: ReplayResult): string {
  return renderPage(replayReport(describePolicies(result)));
}

/** The same of a recommendation, and of the replay that proves it. */
export function renderRecommendation(result: ReplayResult, recommendation: Recommendation): string {
  return renderPage(recommendationReport(describePolicies(result), recommendation));
}
