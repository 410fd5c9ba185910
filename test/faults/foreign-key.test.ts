import { describeFault } from "./describe-fault.ts";
import { foreignKey } from "./faults/foreign-key.ts";

describeFault(foreignKey);
