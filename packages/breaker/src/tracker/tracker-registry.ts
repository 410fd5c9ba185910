import { escapeSubject } from "@headgate/core/internal";
import { LRUCache } from "lru-cache";
import type { TargetTracker } from "./target-tracker.ts";
import type { TargetView } from "./target-view.ts";

/**
 * The trackers of a breaker: the last used ones, and all that are still referenced, so that a target never has two.
 */
export class TrackerRegistry {
  readonly #create: (name: string, target: string) => TargetTracker;
  readonly #lastUsed: LRUCache<string, TargetTracker>;
  readonly #referenced = new Map<string, WeakRef<TargetTracker>>();
  readonly #collected = new FinalizationRegistry<string>((name) => {
    if (this.#referenced.get(name)?.deref() === undefined) this.#referenced.delete(name);
  });

  /** `create` gets the target's name, which is bounded and may be kept, and the target itself, which may not. */
  constructor(maxTargets: number, create: (name: string, target: string) => TargetTracker) {
    this.#create = create;
    this.#lastUsed = new LRUCache({ max: maxTargets });
  }

  get(target: string): TargetTracker {
    const name = toTargetName(target);
    const tracker =
      this.#lastUsed.get(name) ?? this.#referenced.get(name)?.deref() ?? this.#add(name, target);
    this.#lastUsed.set(tracker.name, tracker);
    return tracker;
  }

  /** The names of the targets that were called: the last used ones first, then those that are still referenced. */
  *calledTargets(): Generator<string> {
    for (const tracker of this.#lastUsed.values()) if (wasCalled(tracker)) yield tracker.name;
    for (const [name, known] of this.#referenced) {
      const tracker = this.#lastUsed.has(name) ? undefined : known.deref();
      if (tracker !== undefined && wasCalled(tracker)) yield name;
    }
  }

  #add(name: string, target: string): TargetTracker {
    const tracker = this.#create(copyText(name), target);
    this.#referenced.set(tracker.name, new WeakRef(tracker));
    this.#collected.register(tracker, tracker.name);
    return tracker;
  }
}

/** Whether a target was called or read: its view exists from the first reply on. */
function wasCalled(tracker: TargetTracker): boolean {
  return (tracker.view as TargetView | undefined) !== undefined;
}

/** Longer targets are shortened to their beginning and a hash, so that memory stays bounded. Shortened names are longer than this. */
const MAX_NAME_LENGTH = 100;

/** How many characters stay readable, for logs. */
const PREFIX_LENGTH = 60;

/** The name of a target in this process: at most 105 characters, and a different one for each target. */
function toTargetName(target: string): string {
  if (target.length <= MAX_NAME_LENGTH) return target;
  // The same hash as in the target's keys.
  return `${target.slice(0, PREFIX_LENGTH)}…${escapeSubject(target)}`;
}

/** A copy with its own memory: V8 keeps a whole string alive as long as a slice of it. */
function copyText(text: string): string {
  return Buffer.from(text, "utf16le").toString("utf16le");
}
