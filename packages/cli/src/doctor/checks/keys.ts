import { formatBytes, formatCount, pluralize } from "../../output/number.ts";
import { UnknownFact } from "../facts/fact.ts";
import type { Facts, ServerFacts } from "../facts/facts.ts";
import type { KeySample } from "../facts/sample-keys.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { redisCliKeyCommand } from "../redis-cli-command.ts";

/** The most keys that a finding lists. */
const MAX_NAMED = 5;

/** The suggested expiry for keys without one. The next admitted request sets the usual expiry again. */
const ONE_DAY_MS = "86400000";

/** The 95 % confidence interval is this many standard errors wide in each direction. */
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
  const withoutExpiry = sample.inspected.filter(
    ({ key, ttlMs }) => ttlMs === undefined && !mayNeverExpire(key, facts),
  );
  if (withoutExpiry.length > 0) {
    const named = withoutExpiry.slice(0, MAX_NAMED).map(({ key }) => key);
    return {
      status: "warning",
      message: `${message}; ${withoutExpiry.length} of ${sample.inspected.length} inspected keys never expire: ${named.join(", ")}`,
      impact: "another program wrote them, or removed their expiry: they are never deleted",
      fix: "let them expire in a day; the next admitted request sets the usual expiry of a counter again",
      commands: named.map((key) => redisCliKeyCommand(server, "PEXPIRE", key, ONE_DAY_MS)),
    };
  }
  if (sample.matched > 0 || sample.total === 0) return { status: "ok", message };
  return {
    status: "note",
    message,
    impact: "no limiter counts here at present, or the application uses another prefix",
    fix: "use the application's prefix with --prefix",
  };
}

/** The control record never expires while an override or a deny-list entry has no end. */
function mayNeverExpire(key: string, { control, prefix }: Facts): boolean {
  if (key !== `${prefix}:{control}` || control instanceof UnknownFact || control === "damaged") {
    return key === `${prefix}:{control}`;
  }
  const { overrides, denyList = [] } = control;
  return [...overrides, ...denyList].some(({ until }) => until === null);
}

/** Estimates the number of keys with the prefix and their memory, each with its margin of error. */
function estimateKeys(
  { total, scanned, matched, isComplete, inspected }: KeySample,
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
  const bytes = inspected.flatMap((one) => (one.bytes === undefined ? [] : [one.bytes]));
  if (bytes.length === 0) return head;
  const mean = bytes.reduce((sum, one) => sum + one, 0) / bytes.length;
  const variance = bytes.reduce((sum, one) => sum + (one - mean) ** 2, 0) / bytes.length;
  const isAll = isComplete && bytes.length === matched;
  const meanError = isAll ? 0 : STANDARD_ERRORS * Math.sqrt(variance / bytes.length) * number;
  const error = Math.hypot(meanError, numberError * mean);
  const bytesMargin = error >= 1 ? `, give or take ${formatBytes(error)}` : "";
  return `${head}, and take ${formatBytes(mean * number)}${bytesMargin}`;
}
