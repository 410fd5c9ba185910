import { describeFault } from "./describe-fault.ts";
import { outOfMemory } from "./faults/out-of-memory.ts";

describeFault(outOfMemory);
