import { describeFault } from "./describe-fault.ts";
import { frozen } from "./faults/frozen.ts";

describeFault(frozen);
