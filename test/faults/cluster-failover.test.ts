import { describeFault } from "./describe-fault.ts";
import { clusterFailover } from "./faults/cluster-failover.ts";

describeFault(clusterFailover);
