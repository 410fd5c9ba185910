import { serverOf } from "../facts/info.ts";
import type { Check } from "../finding.ts";
import { eachServer, ifKnown } from "../finding.ts";

/** The versions for which the scripts are written: the first, and the last major one. */
const SUPPORTED: Readonly<Record<string, readonly [first: string, last: number]>> = {
  redis: ["6.2", 8],
  valkey: ["7.2", 9],
};

export const version: Check = {
  name: "version",
  ...eachServer(({ info }) =>
    ifKnown(info, (fields) => {
      const { name, version } = serverOf(fields);
      const found = `${name} ${version}`;
      const supported = SUPPORTED[name];
      if (supported === undefined) {
        const means = "Headgate is tested on Redis and Valkey, not on this server";
        return { status: "note", found, means };
      }
      const [first, last] = supported;
      if (isBefore(version, first)) {
        return {
          status: "problem",
          found: `${found} is older than ${name} ${first}`,
          means:
            "the scripts are not written for it: calls may fail, and limits are decided without Redis then",
          mend: `upgrade the server to ${name} ${first} to ${last}`,
        };
      }
      if (Number.parseInt(version, 10) > last) {
        const means = `Headgate is tested up to ${name} ${last}`;
        return { status: "note", found, means };
      }
      return { status: "ok", found };
    }),
  ),
};

/** Whether a version comes before another: 6.0.16 before 6.2. */
function isBefore(version: string, first: string): boolean {
  const [major = 0, minor = 0] = version.split(".").map(Number);
  const [firstMajor = 0, firstMinor = 0] = first.split(".").map(Number);
  return major < firstMajor || (major === firstMajor && minor < firstMinor);
}
