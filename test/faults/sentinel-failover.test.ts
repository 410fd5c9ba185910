import { describeFault } from "./describe-fault.ts";
import { sentinelFailover } from "./faults/sentinel-failover.ts";

describeFault(sentinelFailover);
