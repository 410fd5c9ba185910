import { Unknown } from "../facts/unknown.ts";
import type { Check } from "../finding.ts";
import { unreadIn } from "./directory.ts";

const PARTS = {
  means: "headgate top leaves out the decisions or subjects that were counted there",
  mend: "delete what is damaged or too long, processes count there anew; what another version wrote, read with that one",
};

/** Says nothing where all of it can be read, or none is kept. */
export const usage: Check = {
  name: "usage",
  judge: ({ unreadUsage, servers: [server] }) =>
    unreadUsage instanceof Unknown ? [] : unreadIn(unreadUsage, server, PARTS),
};
