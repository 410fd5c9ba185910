import { LRUCache } from "lru-cache";
import type { TargetLink } from "./target-link.ts";

/**
 * The links of a breaker: the last used ones, and those that somebody holds, so that a target has one link at a time,
 * however many are named.
 */
export class LinkRegistry {
  readonly #make: (target: string) => TargetLink;
  readonly #lastUsed: LRUCache<string, TargetLink>;
  readonly #known = new Map<string, WeakRef<TargetLink>>();
  readonly #gone = new FinalizationRegistry<string>((target) => {
    if (this.#known.get(target)?.deref() === undefined) this.#known.delete(target);
  });

  constructor(maxTargets: number, make: (target: string) => TargetLink) {
    this.#make = make;
    this.#lastUsed = new LRUCache({ max: maxTargets });
  }

  of(target: string): TargetLink {
    const link =
      this.#lastUsed.get(target) ?? this.#known.get(target)?.deref() ?? this.#add(target);
    this.#lastUsed.set(target, link);
    return link;
  }

  #add(target: string): TargetLink {
    const link = this.#make(target);
    this.#known.set(target, new WeakRef(link));
    this.#gone.register(link, target);
    return link;
  }
}
