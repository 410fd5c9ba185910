import { describeFault } from "./describe-fault.ts";
import { lateAtBoot } from "./faults/late-at-boot.ts";

describeFault(lateAtBoot);
