import { describeFault } from "./describe-fault.ts";
import { wrongType } from "./faults/wrong-type.ts";

describeFault(wrongType);
