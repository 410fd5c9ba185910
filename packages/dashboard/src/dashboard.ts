import { ReadBudget } from "./access/read-budget.ts";
import { ActionRunner } from "./actions/action-runner.ts";
import { PreviewTokens } from "./actions/preview-tokens.ts";
import type { FleetReader } from "./fleet-reader.ts";
import { createFleetReader } from "./fleet-reader.ts";
import type { DashboardOptions } from "./options.ts";
import { validateOptions } from "./options.ts";
import { PageFiles } from "./serve/page-files.ts";

/** A dashboard, independent of the framework. */
export interface Dashboard
  extends Pick<DashboardOptions, "createBreaker" | "doctor" | "hashSecret" | "runbook"> {
  readonly reader: FleetReader;
  readonly actions: ActionRunner;
  readonly readBudget: ReadBudget;
  readonly files: PageFiles;
  readonly title: string;
  /** The prefix of all keys of the store. */
  readonly prefix: string;
}

/** Creates a dashboard from options; `adapterOptions` are the names of the adapter's own options. Throws `HEADGATE_INVALID_OPTION`. */
export function createDashboard(
  options: DashboardOptions,
  adapterOptions: readonly string[] = [],
): Dashboard {
  validateOptions(options, adapterOptions);
  const { store, title = "Headgate", doctor, createBreaker, hashSecret, runbook } = options;
  const reader = createFleetReader(store, options.storeTimeout);
  return {
    reader,
    actions: new ActionRunner(createBreaker, new PreviewTokens(options.secret, reader)),
    readBudget: new ReadBudget(),
    files: new PageFiles(options.files),
    title,
    prefix: store.prefix,
    doctor,
    createBreaker,
    hashSecret,
    runbook,
  };
}
