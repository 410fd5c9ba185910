import { describeFault } from "./describe-fault.ts";
import { cut } from "./faults/cut.ts";

describeFault(cut);
