import { HeadgateError } from "../common/errors.ts";
import { rejectWrongType } from "../policy/wrong-type.ts";
import type { Operation } from "../store/store.ts";
import type { ControlDeps } from "./control.ts";
import type { Draft, ReadControl } from "./control-edit.ts";
import { neededMs, writeDraft } from "./control-edit.ts";
import type { ForgottenSubject } from "./forgotten-subject.ts";
import type { ActionLog, EntryText } from "./log-entry.ts";
import { forgottenEntries, readEntries, writeEntry } from "./log-entry.ts";
import { MAX_RECORD_BYTES, readRecord } from "./record-text.ts";
import {
  actions,
  actionsKeyOf,
  change,
  READ_STATES,
  read,
  recordKeyOf,
  redact,
  textOf,
} from "./steps.ts";

/** How often a change is tried when others change the record at the same time. */
const TRIES = 32;

/** A changed record, and the entry in the log. */
export interface ControlChange {
  readonly draft: Draft;
  readonly entry: EntryText;
}

/** The control record of a store's prefix, and its log. All methods reject with the store's errors. */
export class ControlStore {
  readonly #place: ControlDeps;
  readonly #recordKey: string;
  readonly #logKey: string;

  constructor(place: ControlDeps) {
    this.#place = place;
    this.#recordKey = recordKeyOf(place.store.prefix);
    this.#logKey = actionsKeyOf(place.store.prefix);
  }

  #run<Call>(step: Operation<Call>, call: Call): Promise<readonly number[]> {
    const { store, watch } = this.#place;
    return watch.run(store, step, call, this.#recordKey);
  }

  /** Rejects with `HEADGATE_CONTROL_DAMAGED`. */
  async read(): Promise<ReadControl> {
    const call = { key: this.#recordKey, known: undefined };
    const reply = await this.#run(read, call);
    const [now = 0, state] = reply;
    const record = state === READ_STATES.other ? readRecord(textOf(reply)) : undefined;
    if (record !== undefined) return { record, now };
    const why =
      state === READ_STATES.tooLong
        ? `has more than ${MAX_RECORD_BYTES} bytes, which no version writes: delete the key`
        : "is damaged or of another version: deploy the version that wrote it, or delete the key";
    throw new HeadgateError(
      "HEADGATE_CONTROL_DAMAGED",
      `the control record ${this.#recordKey} ${why}`,
    );
  }

  /** Changes the record, and appends to the log, unless `isDry`. Resolves with the time of the change, in microseconds. */
  async change(
    makeOf: (read: ReadControl) => ControlChange,
    isDry: boolean | undefined = false,
  ): Promise<number> {
    for (let tries = 0; tries < TRIES; tries += 1) {
      const { record, now } = await this.read();
      const { draft, entry } = makeOf({ record, now });
      const body = writeDraft(draft);
      if (isDry) return now;
      const call = {
        prefix: this.#place.store.prefix,
        version: record.version,
        body,
        keptMs: neededMs(draft, now),
        entry: writeEntry(entry),
      };
      const reply = await this.#run(change, call);
      rejectWrongType(reply, [{ key: this.#logKey }]);
      if (reply[1] !== 0) return reply[0] as number;
    }
    throw new HeadgateError(
      "HEADGATE_STORE_UNAVAILABLE",
      `others changed the control record during each of ${TRIES} tries: try again`,
    );
  }

  async log(): Promise<ActionLog> {
    return readEntries(await this.#logText());
  }

  /** Redacts a subject in the log, unless `dryRun`. Resolves with the number of entries that name it. */
  async forgetInLog(forgotten: ForgottenSubject, dryRun = false): Promise<number> {
    const replacements = forgottenEntries(await this.#logText(), forgotten);
    if (replacements.length === 0 || dryRun) return replacements.length;
    const { prefix } = this.#place.store;
    const reply = await this.#run(redact, { prefix, replacements });
    rejectWrongType(reply, [{ key: this.#logKey }]);
    return reply[1] as number;
  }

  async #logText(): Promise<string> {
    const reply = await this.#run(actions, this.#place.store.prefix);
    rejectWrongType(reply, [{ key: this.#logKey }]);
    return textOf(reply);
  }
}
