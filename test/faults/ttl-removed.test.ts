import { describeFault } from "./describe-fault.ts";
import { ttlRemoved } from "./faults/ttl-removed.ts";

describeFault(ttlRemoved);
