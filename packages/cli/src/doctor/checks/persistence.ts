import { pluralize } from "../../output/number.ts";
import { UnknownFact } from "../facts/fact.ts";
import type { ServerFacts } from "../facts/facts.ts";
import type { Info } from "../facts/info.ts";
import { numberOf } from "../facts/info.ts";
import type { Check, Finding } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";
import { redisCliCommand } from "../redis-cli-command.ts";

export const persistence: Check = {
  name: "persistence",
  ...eachServer((server) => ifKnown(server.info, (fields) => checkPersistence(server, fields))),
};

function checkPersistence(server: ServerFacts, fields: Info): Finding {
  const config = server.config instanceof UnknownFact ? {} : server.config;
  if (fields["aof_enabled"] === "1") return checkAppendOnlyFile(server, fields, config);
  if (refusesWrites(fields, config)) {
    return {
      status: "problem",
      message: "the last snapshot failed, and stop-writes-on-bgsave-error is on",
      impact: "writes are refused (MISCONF): every decision is made without Redis",
      fix: "free disk space, check the server's log, and run BGSAVE; or accept writes without snapshots",
      commands: [redisCliCommand(server, "CONFIG", "SET", "stop-writes-on-bgsave-error", "no")],
    };
  }
  const changes = numberOf(fields, "rdb_changes_since_last_save") ?? 0;
  if (config["save"] === "") {
    return {
      status: "note",
      message: "nothing is stored on disk",
      impact: "a restart resets all limits, and removes blocks and overrides",
      fix: "accept that, or turn on the append-only file; change it in the server's configuration file as well",
      commands: [redisCliCommand(server, "CONFIG", "SET", "appendonly", "yes")],
    };
  }
  const message = `snapshots, ${config["save"] === undefined ? "" : `save ${config["save"]}, `}${pluralize(changes, "change")} since the last`;
  return { status: "ok", message };
}

/** Checks a server with an append-only file. */
function checkAppendOnlyFile(
  server: ServerFacts,
  fields: Info,
  config: Readonly<Record<string, string>>,
): Finding {
  const policy = config["appendfsync"];
  const message = `append-only file${policy === undefined ? "" : `, appendfsync ${policy}`}`;
  if (fields["aof_last_write_status"] === "err") {
    return {
      status: "problem",
      message: "the last write to the append-only file failed",
      impact: "writes are refused (MISCONF): every decision is made without Redis",
      fix: "free disk space, and check the server's log",
    };
  }
  if (policy !== "always") return { status: "ok", message };
  return {
    status: "note",
    message,
    impact: "each decision waits for the disk",
    fix: "use everysec, which loses at most one second of counts; change it in the server's configuration file as well",
    commands: [redisCliCommand(server, "CONFIG", "SET", "appendfsync", "everysec")],
  };
}

function refusesWrites(fields: Info, config: Readonly<Record<string, string>>): boolean {
  return (
    fields["rdb_last_bgsave_status"] === "err" &&
    config["stop-writes-on-bgsave-error"] !== "no" &&
    config["save"] !== ""
  );
}
