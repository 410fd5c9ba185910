import { counted, formatBytes, formatCount } from "../../output/number.ts";
import { commandOnKey } from "../command-at.ts";
import { Unknown } from "../facts/fact.ts";
import type { Facts, ServerFacts } from "../facts/facts.ts";
import type { KeySample } from "../facts/sample-keys.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

/** The most keys that are written out. */
const NAMED = 5;

/** A life for keys that have none, in milliseconds: a day. An admitted request gives them their own again. */
const LIFE = "86400000";

/** In 95 of 100 samples the truth is within so many standard errors. */
const STANDARD_ERRORS = 1.96;

export const keys: Check = {
  name: "keys",
  ...eachServer(
    (server, facts) =>
      server.keys && ifKnown(server.keys, (sample) => judge(sample, server, facts)),
  ),
};

function judge(sample: KeySample, server: ServerFacts, facts: Facts): Finding {
  const found = describe(sample, facts.prefix);
  const endless = sample.asked.filter(({ key, ttl }) => ttl === -1 && !isEndless(key, facts));
  if (endless.length > 0) {
    const named = endless.slice(0, NAMED).map(({ key }) => key);
    return {
      status: "warning",
      found: `${found}; ${endless.length} of ${sample.asked.length} looked at never expire: ${named.join(", ")}`,
      means: "another program wrote them, or removed their expiry: they stay for ever",
      mend: "let them expire in a day; the next admitted request sets a counter's own expiry again",
      commands: named.map((key) => commandOnKey(server, "PEXPIRE", key, LIFE)),
    };
  }
  if (sample.matched > 0 || sample.total === 0) return { status: "ok", found };
  return {
    status: "note",
    found,
    means: "nothing counts here now, or it uses another prefix",
    mend: "give --prefix as the application has it",
  };
}

/** The control record, while an override or an entry of the deny list has no end. */
function isEndless(key: string, { control, prefix }: Facts): boolean {
  if (key !== `${prefix}:{control}` || control instanceof Unknown || control === "damaged") {
    return key === `${prefix}:{control}`;
  }
  const { overrides, denied = [] } = control;
  return [...overrides, ...denied].some(({ until }) => until === null);
}

/** How many keys there are, and what they take, with how much that may be wrong. */
function describe({ total, scanned, matched, isWhole, asked }: KeySample, prefix: string): string {
  const share = scanned === 0 ? 0 : matched / scanned;
  const number = isWhole ? matched : Math.round(share * total);
  const numberError = isWhole
    ? 0
    : STANDARD_ERRORS * Math.sqrt((share * (1 - share)) / scanned) * total;
  const give = numberError >= 1 ? `, give or take ${formatCount(Math.round(numberError))},` : "";
  const head = `${counted(number, "key")}${give} of ${formatCount(total)} begin with ${prefix}:`;
  const bytes = asked.flatMap((one) => (one.bytes === undefined ? [] : [one.bytes]));
  if (bytes.length === 0) return head;
  const mean = bytes.reduce((sum, one) => sum + one, 0) / bytes.length;
  const variance = bytes.reduce((sum, one) => sum + (one - mean) ** 2, 0) / bytes.length;
  const isAll = isWhole && bytes.length === matched;
  const meanError = isAll ? 0 : STANDARD_ERRORS * Math.sqrt(variance / bytes.length) * number;
  const error = Math.hypot(meanError, numberError * mean);
  const may = error >= 1 ? `, give or take ${formatBytes(error)}` : "";
  return `${head}, and take ${formatBytes(mean * number)}${may}`;
}
