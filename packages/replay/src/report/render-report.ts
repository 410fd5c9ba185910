import type { Recommendation } from "../recommend/recommendation.ts";
import type { ReplayResult } from "../replay/result.ts";
import { renderPage } from "./page.ts";
import { recommendationReport } from "./recommendation-report.ts";
import { replayReport } from "./replay-report.ts";

/**
 * Renders the report of a replay, or of a recommendation and the replay that proves it: one HTML page of at most a megabyte, without
 * scripts, which loads nothing.
 */
export function renderReport(result: ReplayResult | Recommendation): string {
  return renderPage("proposal" in result ? recommendationReport(result) : replayReport(result));
}
