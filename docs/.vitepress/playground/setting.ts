/** A field of the form. Values are texts, as in the URL; "" leaves an optional one out. */
export interface Field {
  readonly name: string;
  readonly label: string;
  readonly preset: string;
  /** Takes a number, a duration such as `10s`, or one of these texts. */
  readonly kind: "number" | "duration" | readonly string[];
  readonly isOptional?: true;
}

/** One of the choices of the form, with its own fields. */
export interface Choice {
  readonly label: string;
  readonly hint: string;
  readonly fields: readonly Field[];
}

/** A state of the form. */
export interface Setting {
  readonly algorithm: AlgorithmName;
  readonly traffic: TrafficName;
  /** Of the algorithm's fields and the traffic's, by name. */
  readonly values: Readonly<Record<string, string>>;
}

const limit = (preset: string): Field => ({
  name: "limit",
  label: "limit",
  preset,
  kind: "number",
});

const window: Field = { name: "window", label: "window", preset: "10s", kind: "duration" };

/** The fields are options of the builder that has the same name. */
export const ALGORITHMS = {
  gcra: {
    label: "gcra",
    hint: "Admits burst requests at once (limit, if left out), and then one each window / limit.",
    fields: [
      limit("20"),
      window,
      { name: "burst", label: "burst", preset: "", kind: "number", isOptional: true },
    ],
  },
  tokenBucket: {
    label: "tokenBucket",
    hint: "A full bucket allows a burst; then requests pass as fast as it refills.",
    fields: [
      { name: "capacity", label: "capacity", preset: "20", kind: "number" },
      { name: "refill", label: "refill", preset: "20", kind: "number" },
      { name: "every", label: "every", preset: "10s", kind: "duration" },
    ],
  },
  fixedWindow: {
    label: "fixedWindow",
    hint: "Counts start again with each window, so twice the limit can pass around its edge.",
    fields: [
      limit("20"),
      window,
      { name: "align", label: "align", preset: "first", kind: ["first", "clock"] },
    ],
  },
  slidingWindow: {
    label: "slidingWindow",
    hint: "The last window still counts by the share of it that is covered. With 2 to 60 buckets, never more than the limit in any window.",
    fields: [
      limit("20"),
      window,
      { name: "buckets", label: "buckets", preset: "", kind: "number", isOptional: true },
    ],
  },
  slidingLog: {
    label: "slidingLog",
    hint: "Remembers each request: never more than the limit in any window.",
    fields: [limit("20"), window],
  },
} as const satisfies Readonly<Record<string, Choice>>;

export type AlgorithmName = keyof typeof ALGORITHMS;

const number = (name: string, label: string, preset: string): Field => ({
  name,
  label,
  preset,
  kind: "number",
});

export const TRAFFIC = {
  steady: {
    label: "Steady",
    hint: "One client sends at an even rate.",
    fields: [number("rate", "requests per second", "3")],
  },
  bursts: {
    label: "Bursts",
    hint: "One client sends many requests within a second, and pauses.",
    fields: [
      number("size", "requests in a burst", "30"),
      number("pause", "seconds between bursts", "8"),
    ],
  },
  "two-clients": {
    label: "Two clients",
    hint: "A busy client and a quiet one: each has its own count.",
    fields: [
      number("busy", "requests per second, busy client", "6"),
      number("quiet", "requests per second, quiet client", "1"),
    ],
  },
  retries: {
    label: "A client that retries",
    hint: "It repeats each denied request until it passes.",
    fields: [
      number("rate", "requests per second", "4"),
      {
        name: "retry",
        label: "retries",
        preset: "after Retry-After",
        kind: ["after Retry-After", "every 250 ms"],
      },
    ],
  },
} as const satisfies Readonly<Record<string, Choice>>;

export type TrafficName = keyof typeof TRAFFIC;

const SECONDS: Field = number("seconds", "seconds shown", "60");

/** The fields that a setting has besides the two choices. */
export function fieldsOf({ algorithm, traffic }: Pick<Setting, "algorithm" | "traffic">) {
  const ofLimit: readonly Field[] = ALGORITHMS[algorithm].fields;
  const ofTraffic: readonly Field[] = [...TRAFFIC[traffic].fields, SECONDS];
  return { ofLimit, ofTraffic, all: [...ofLimit, ...ofTraffic] };
}

/** Reads a setting from the query of a URL. Missing and unknown values are as preset. */
export function parseSetting(query: string): Setting {
  const params = new URLSearchParams(query);
  const algorithm = keyIn(ALGORITHMS, params.get("algorithm")) ?? "gcra";
  const traffic = keyIn(TRAFFIC, params.get("traffic")) ?? "bursts";
  const values = fieldsOf({ algorithm, traffic }).all.map(({ name, preset, kind }) => {
    const value = params.get(name) ?? preset;
    return [name, typeof kind === "string" || kind.includes(value) ? value : preset];
  });
  return { algorithm, traffic, values: Object.fromEntries(values) };
}

/** Writes a setting as the query of a URL: all of it, so that a link keeps its meaning when presets change. */
export function formatSetting({ algorithm, traffic, values }: Setting): string {
  const { all } = fieldsOf({ algorithm, traffic });
  const pairs = all.map(({ name }) => [name, values[name] ?? ""] as [string, string]);
  return String(new URLSearchParams([["algorithm", algorithm], ["traffic", traffic], ...pairs]));
}

function keyIn<Key extends string>(choices: Readonly<Record<Key, unknown>>, key: string | null) {
  return key !== null && Object.hasOwn(choices, key) ? (key as Key) : undefined;
}
