import { counted } from "../../output/number.ts";
import { commandAt } from "../command-at.ts";
import { Unknown } from "../facts/fact.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberIn } from "../facts/info.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

export const persistence: Check = {
  name: "persistence",
  ...eachServer((server) => ifKnown(server.info, (fields) => judge(server, fields))),
};

function judge(server: ServerFacts, fields: Info): Finding {
  const config = server.config instanceof Unknown ? {} : server.config;
  if (fields["aof_enabled"] === "1") return judgeLog(server, fields, config);
  if (isRefusing(fields, config)) {
    return {
      status: "problem",
      found: "the last snapshot failed, and stop-writes-on-bgsave-error is on",
      means: "writes are refused (MISCONF): every decision is taken without Redis",
      mend: "free the disk, see the server's log, and run BGSAVE; or take writes without snapshots",
      commands: [commandAt(server, "CONFIG", "SET", "stop-writes-on-bgsave-error", "no")],
    };
  }
  const changes = numberIn(fields, "rdb_changes_since_last_save") ?? 0;
  if (config["save"] === "") {
    return {
      status: "note",
      found: "nothing is kept on disk",
      means: "after a restart all limits begin anew, and blocks and overrides are gone",
      mend: "accept that, or keep a log of what is written; write it into the server's configuration as well",
      commands: [commandAt(server, "CONFIG", "SET", "appendonly", "yes")],
    };
  }
  const found = `snapshots, ${config["save"] === undefined ? "" : `save ${config["save"]}, `}${counted(changes, "change")} since the last`;
  return { status: "ok", found };
}

/** Of a server that logs what it writes. */
function judgeLog(
  server: ServerFacts,
  fields: Info,
  config: Readonly<Record<string, string>>,
): Finding {
  const policy = config["appendfsync"];
  const found = `append-only file${policy === undefined ? "" : `, appendfsync ${policy}`}`;
  if (fields["aof_last_write_status"] === "err") {
    return {
      status: "problem",
      found: "the last write to the append-only file failed",
      means: "writes are refused (MISCONF): every decision is taken without Redis",
      mend: "free the disk, and see the server's log",
    };
  }
  if (policy !== "always") return { status: "ok", found };
  return {
    status: "note",
    found,
    means: "each decision waits for the disk",
    mend: "everysec loses a second of counts at most; write it into the server's configuration as well",
    commands: [commandAt(server, "CONFIG", "SET", "appendfsync", "everysec")],
  };
}

function isRefusing(fields: Info, config: Readonly<Record<string, string>>): boolean {
  return (
    fields["rdb_last_bgsave_status"] === "err" &&
    config["stop-writes-on-bgsave-error"] !== "no" &&
    config["save"] !== ""
  );
}
