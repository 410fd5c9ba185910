import { formatBytes, formatCount, pluralize } from "../../output/number.ts";
import { UnknownFact } from "../facts/fact.ts";
import type { Facts, ServerFacts } from "../facts/facts.ts";
import type { KeySample } from "../facts/sample-keys.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { redisCliKeyCommand } from "../redis-cli-command.ts";

/** The most keys that are written out. */
const MAX_NAMED = 5;

/** A life for keys that have none, in milliseconds: a day. An admitted request gives them their own again. */
const ONE_DAY_MS = "86400000";

/** In 95 of 100 samples the truth is within so many standard errors. */
const STANDARD_ERRORS = 1.96;

export const keys: Check = {
  name: "keys",
  ...eachServer(
    (server, facts) =>
      server.keys && ifKnown(server.keys, (sample) => checkKeys(sample, server, facts)),
  ),
};

function checkKeys(sample: KeySample, server: ServerFacts, facts: Facts): Finding {
  const message = estimateKeys(sample, facts.prefix);
  const withoutExpiry = sample.asked.filter(
    ({ key, ttlMs }) => ttlMs === -1 && !mayNeverExpire(key, facts),
  );
  if (withoutExpiry.length > 0) {
    const named = withoutExpiry.slice(0, MAX_NAMED).map(({ key }) => key);
    return {
      status: "warning",
      message: `${message}; ${withoutExpiry.length} of ${sample.asked.length} looked at never expire: ${named.join(", ")}`,
      impact: "another program wrote them, or removed their expiry: they stay for ever",
      fix: "let them expire in a day; the next admitted request sets a counter's own expiry again",
      commands: named.map((key) => redisCliKeyCommand(server, "PEXPIRE", key, ONE_DAY_MS)),
    };
  }
  if (sample.matched > 0 || sample.total === 0) return { status: "ok", message };
  return {
    status: "note",
    message,
    impact: "nothing counts here now, or it uses another prefix",
    fix: "give --prefix as the application has it",
  };
}

/** The control record, while an override or an entry of the deny list has no end. */
function mayNeverExpire(key: string, { control, prefix }: Facts): boolean {
  if (key !== `${prefix}:{control}` || control instanceof UnknownFact || control === "damaged") {
    return key === `${prefix}:{control}`;
  }
  const { overrides, denied = [] } = control;
  return [...overrides, ...denied].some(({ until }) => until === null);
}

/** How many keys there are, and what they take, with how much that may be wrong. */
function estimateKeys(
  { total, scanned, matched, isComplete, asked }: KeySample,
  prefix: string,
): string {
  const share = scanned === 0 ? 0 : matched / scanned;
  const number = isComplete ? matched : Math.round(share * total);
  const numberError = isComplete
    ? 0
    : STANDARD_ERRORS * Math.sqrt((share * (1 - share)) / scanned) * total;
  const numberMargin =
    numberError >= 1 ? `, give or take ${formatCount(Math.round(numberError))},` : "";
  const head = `${pluralize(number, "key")}${numberMargin} of ${formatCount(total)} begin with ${prefix}:`;
  const bytes = asked.flatMap((one) => (one.bytes === undefined ? [] : [one.bytes]));
  if (bytes.length === 0) return head;
  const mean = bytes.reduce((sum, one) => sum + one, 0) / bytes.length;
  const variance = bytes.reduce((sum, one) => sum + (one - mean) ** 2, 0) / bytes.length;
  const isAll = isComplete && bytes.length === matched;
  const meanError = isAll ? 0 : STANDARD_ERRORS * Math.sqrt(variance / bytes.length) * number;
  const error = Math.hypot(meanError, numberError * mean);
  const bytesMargin = error >= 1 ? `, give or take ${formatBytes(error)}` : "";
  return `${head}, and take ${formatBytes(mean * number)}${bytesMargin}`;
}
