import { HeadgateError } from "../common/errors.ts";
import { rejectWrongType } from "../operations/wrong-type.ts";
import type { Operation } from "../store/store.ts";
import type { ControlDeps } from "./control.ts";
import type { ControlDraft, ControlSnapshot } from "./control-edit.ts";
import { formatDraft, ttlMsOf } from "./control-edit.ts";
import type { ForgottenSubject } from "./forgotten-subject.ts";
import type { ActionLog, NewLogEntry } from "./log-entry.ts";
import { formatEntry, parseEntries, redactedEntries } from "./log-entry.ts";
import {
  actionLogKey,
  changeControl,
  controlKey,
  READ_STATES,
  readActionLog,
  readControl,
  redactActionLog,
  replyText,
} from "./operations.ts";
import { MAX_RECORD_BYTES, parseRecord } from "./record-text.ts";

/** How often a change is tried when others change the record at the same time. */
const MAX_TRIES = 32;

/** A record to write, and the entry for the log. */
export interface ControlEdit {
  readonly draft: ControlDraft;
  readonly entry: NewLogEntry;
}

/** The control record of a store's prefix, and its log. All methods reject with the store's errors. */
export class ControlStore {
  readonly #deps: ControlDeps;
  readonly #recordKey: string;
  readonly #logKey: string;

  constructor(deps: ControlDeps) {
    this.#deps = deps;
    this.#recordKey = controlKey(deps.store.prefix);
    this.#logKey = actionLogKey(deps.store.prefix);
  }

  #run<Call>(operation: Operation<Call>, call: Call): Promise<readonly number[]> {
    const { store, monitor } = this.#deps;
    return monitor.run(store, operation, call, this.#recordKey);
  }

  /** Rejects with `HEADGATE_CONTROL_CORRUPT`. */
  async read(): Promise<ControlSnapshot> {
    const call = { key: this.#recordKey, knownVersion: undefined };
    const reply = await this.#run(readControl, call);
    const [now = 0, state] = reply;
    const record = state === READ_STATES.changed ? parseRecord(replyText(reply)) : undefined;
    if (record !== undefined) return { record, now };
    const problem =
      state === READ_STATES.tooLong
        ? `has more than ${MAX_RECORD_BYTES} bytes, which no version writes: delete the key`
        : "is damaged or of another version: deploy the version that wrote it, or delete the key";
    throw new HeadgateError(
      "HEADGATE_CONTROL_CORRUPT",
      `the control record ${this.#recordKey} ${problem}`,
    );
  }

  /** Changes the record, and appends to the log, unless `dryRun`. Resolves with the time of the change, in microseconds. */
  async change(
    makeEdit: (read: ControlSnapshot) => ControlEdit,
    dryRun: boolean | undefined = false,
  ): Promise<number> {
    for (let tries = 0; tries < MAX_TRIES; tries += 1) {
      const { record, now } = await this.read();
      const { draft, entry } = makeEdit({ record, now });
      const body = formatDraft(draft);
      if (dryRun) return now;
      const call = {
        prefix: this.#deps.store.prefix,
        version: record.version,
        body,
        ttlMs: ttlMsOf(draft, now),
        entry: formatEntry(entry),
      };
      const reply = await this.#run(changeControl, call);
      rejectWrongType(reply, [{ key: this.#logKey }]);
      if (reply[1] !== 0) return reply[0] as number;
    }
    throw new HeadgateError(
      "HEADGATE_STORE_UNAVAILABLE",
      `others changed the control record during each of ${MAX_TRIES} tries: try again`,
    );
  }

  async log(): Promise<ActionLog> {
    return parseEntries(await this.#logText());
  }

  /** Redacts a subject in the log, unless `dryRun`. Resolves with the number of entries that name it. */
  async redactLog(forgotten: ForgottenSubject, dryRun = false): Promise<number> {
    const replacements = redactedEntries(await this.#logText(), forgotten);
    if (replacements.length === 0 || dryRun) return replacements.length;
    const { prefix } = this.#deps.store;
    const reply = await this.#run(redactActionLog, { prefix, replacements });
    rejectWrongType(reply, [{ key: this.#logKey }]);
    return reply[1] as number;
  }

  async #logText(): Promise<string> {
    const reply = await this.#run(readActionLog, this.#deps.store.prefix);
    rejectWrongType(reply, [{ key: this.#logKey }]);
    return replyText(reply);
  }
}
