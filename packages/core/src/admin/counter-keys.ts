import { escapePart, unescapePart } from "../common/key.ts";

/** The parts of a counter's key. */
export interface CounterKey {
  readonly dimension: string;
  /** Undefined if the key has a hash instead, as for a long subject. */
  readonly subject: string | undefined;
  /** Its last part, listed in the registry for each shape of a limiter. */
  readonly fingerprint: string;
}

/** The keys of a limiter's counters under a prefix. */
export interface CounterKeys {
  /** A pattern for SCAN that matches them, and may match others. */
  readonly pattern: string;
  /** Undefined for a key of something else. */
  read(key: string): CounterKey | undefined;
}

/** The keys of the counters of a limiter, by its name. */
export function counterKeysOf(limiter: string, prefix: string): CounterKeys {
  const begin = `${prefix}:{`;
  const middle = `}:${escapePart(limiter)}:`;
  return {
    pattern: `${begin}*${middle}*`,
    read(key) {
      const at = key.indexOf(middle, begin.length);
      const [, dimension, fingerprint] =
        /^([^:]+):([\w-]{8})$/.exec(key.slice(at + middle.length)) ?? [];
      const per = unescapePart(dimension ?? "");
      if (!key.startsWith(begin) || at < 0 || !per || fingerprint === undefined) return undefined;
      return { dimension: per, subject: unescapePart(key.slice(begin.length, at)), fingerprint };
    },
  };
}
