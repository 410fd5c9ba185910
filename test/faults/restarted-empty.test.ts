import { describeFault } from "./describe-fault.ts";
import { restartedEmpty } from "./faults/restarted-empty.ts";

describeFault(restartedEmpty);
