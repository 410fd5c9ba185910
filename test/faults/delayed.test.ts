import { describeFault } from "./describe-fault.ts";
import { delayed } from "./faults/delayed.ts";

describeFault(delayed);
