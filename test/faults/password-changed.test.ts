import { describeFault } from "./describe-fault.ts";
import { passwordChanged } from "./faults/password-changed.ts";

describeFault(passwordChanged);
