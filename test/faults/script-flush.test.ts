import { describeFault } from "./describe-fault.ts";
import { scriptFlush } from "./faults/script-flush.ts";

describeFault(scriptFlush);
