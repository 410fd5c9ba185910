import { LRUCache } from "lru-cache";
import type { TargetLink } from "./target-link.ts";
import { copyOfText, nameOfTarget } from "./target-name.ts";
import type { View } from "./view.ts";

/**
 * The links of a breaker: the last used ones, and all that are still referenced, so that a target never has two.
 */
export class LinkRegistry {
  readonly #make: (name: string, target: string) => TargetLink;
  readonly #lastUsed: LRUCache<string, TargetLink>;
  readonly #known = new Map<string, WeakRef<TargetLink>>();
  readonly #gone = new FinalizationRegistry<string>((name) => {
    if (this.#known.get(name)?.deref() === undefined) this.#known.delete(name);
  });

  /** `make` gets the target's name, which is bounded and may be kept, and the target itself, which may not. */
  constructor(maxTargets: number, make: (name: string, target: string) => TargetLink) {
    this.#make = make;
    this.#lastUsed = new LRUCache({ max: maxTargets });
  }

  of(target: string): TargetLink {
    const name = nameOfTarget(target);
    const link =
      this.#lastUsed.get(name) ?? this.#known.get(name)?.deref() ?? this.#add(name, target);
    this.#lastUsed.set(link.name, link);
    return link;
  }

  /** The names of the targets that were called: the last used ones first, then those that are still referenced. */
  *called(): Generator<string> {
    for (const link of this.#lastUsed.values()) if (wasCalled(link)) yield link.name;
    for (const [name, known] of this.#known) {
      const link = this.#lastUsed.has(name) ? undefined : known.deref();
      if (link !== undefined && wasCalled(link)) yield name;
    }
  }

  #add(name: string, target: string): TargetLink {
    const link = this.#make(copyOfText(name), target);
    this.#known.set(link.name, new WeakRef(link));
    this.#gone.register(link, link.name);
    return link;
  }
}

/** Whether a target was called, or asked about: its state is known from the first answer on. */
function wasCalled(link: TargetLink): boolean {
  return (link.view as View | undefined) !== undefined;
}
