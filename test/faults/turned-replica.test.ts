import { describeFault } from "./describe-fault.ts";
import { turnedReplica } from "./faults/turned-replica.ts";

describeFault(turnedReplica);
