import { describeFault } from "./describe-fault.ts";
import { killed } from "./faults/killed.ts";

describeFault(killed);
