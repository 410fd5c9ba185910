import { ReadBudget } from "./access/read-budget.ts";
import { Acting } from "./actions/acting.ts";
import { Tokens } from "./actions/tokens.ts";
import type { DashboardOptions, DoctorReport } from "./options.ts";
import { requireOptions } from "./options.ts";
import type { Reading } from "./reading.ts";
import { createReading } from "./reading.ts";
import { PageFiles } from "./serve/page-files.ts";

/** A dashboard, independent of the framework. */
export interface Dashboard {
  readonly reading: Reading;
  readonly acting: Acting;
  readonly budget: ReadBudget;
  readonly files: PageFiles;
  readonly title: string;
  /** The prefix of all keys of the store. */
  readonly prefix: string;
  readonly hasDoctor: boolean;
  readonly doctor: (() => Promise<DoctorReport>) | undefined;
  readonly createBreaker: DashboardOptions["createBreaker"];
  readonly hashSecret: string | undefined;
}

/** Creates a dashboard from options; `more` are the names of an adapter's own. Throws `HEADGATE_INVALID_OPTION`. */
export function createDashboard(
  options: DashboardOptions,
  more: readonly string[] = [],
): Dashboard {
  requireOptions(options, more);
  const { store, title = "Headgate", doctor, createBreaker, hashSecret } = options;
  const reading = createReading(store, options.storeTimeout);
  return {
    reading,
    acting: new Acting(createBreaker, new Tokens(options.secret)),
    budget: new ReadBudget(),
    files: new PageFiles(options.files),
    title,
    prefix: store.prefix,
    hasDoctor: doctor !== undefined,
    doctor,
    createBreaker,
    hashSecret,
  };
}
